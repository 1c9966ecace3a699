/* What is shown where something is hidden, or where nothing is that a jail may make: names in a small file system of ours. */
#pragma once

#define AJ_BLANK_FOLDER "folder"
#define AJ_BLANK_FILE "file"
/* Of git's commondir file: a repository that has its common folder in itself, which is as if there were no such file. */
#define AJ_BLANK_ITSELF "itself"
#define AJ_BLANK_ITSELF_TEXT ".\n"
