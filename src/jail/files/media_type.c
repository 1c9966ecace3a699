/* A table of file name endings. It reads no file: content that a jail wrote is not parsed here. */
#include "jail/files/media_type.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

static const struct {
	const char *ending, *type;
} types[] = {
	{ "csv", "text/csv" },
	{ "docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document" },
	{ "gif", "image/gif" },
	{ "gz", "application/gzip" },
	{ "htm", "text/html" },
	{ "html", "text/html" },
	{ "ipynb", "application/x-ipynb+json" },
	{ "jpeg", "image/jpeg" },
	{ "jpg", "image/jpeg" },
	{ "json", "application/json" },
	{ "jsonl", "application/jsonl" },
	{ "log", "text/plain" },
	{ "md", "text/markdown" },
	{ "mp3", "audio/mpeg" },
	{ "mp4", "video/mp4" },
	{ "npy", "application/x-npy" },
	{ "parquet", "application/vnd.apache.parquet" },
	{ "pdf", "application/pdf" },
	{ "png", "image/png" },
	{ "pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation" },
	{ "py", "text/x-python" },
	{ "sqlite", "application/vnd.sqlite3" },
	{ "svg", "image/svg+xml" },
	{ "tar", "application/x-tar" },
	{ "toml", "application/toml" },
	{ "tsv", "text/tab-separated-values" },
	{ "txt", "text/plain" },
	{ "wav", "audio/wav" },
	{ "webp", "image/webp" },
	{ "xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet" },
	{ "xml", "application/xml" },
	{ "yaml", "application/yaml" },
	{ "yml", "application/yaml" },
	{ "zip", "application/zip" },
};

const char *aj_media_type(const char *name)
{
	const char *dot = strrchr(name, '.');
	for (size_t i = 0; dot && i < sizeof types / sizeof *types; i++)
		if (strcasecmp(dot + 1, types[i].ending) == 0)
			return types[i].type;
	return "application/octet-stream";
}
