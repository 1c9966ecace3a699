/* The media type of a file by the ending of its name: a guess for callers that show files, never a fact about the content. */
#pragma once

const char *aj_media_type(const char *name);
