/* The names of the placeholder files and folders in a small tmpfs of agentjail, which are mounted over hidden places and over
 * names that a jail may not create. */
#pragma once

#define AJ_BLANK_FOLDER "folder"
#define AJ_BLANK_FILE "file"
/* A commondir file of git that names the repository itself as its common folder: git treats it like a missing file. */
#define AJ_BLANK_ITSELF "itself"
#define AJ_BLANK_ITSELF_TEXT ".\n"
