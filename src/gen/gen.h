/* The printers of the build-time tool; each prints from tables of the code. */
#pragma once

/* Rows of man(7) macros: options of a command (AJ_FOR_*), keys of a policy or a site, codes of findings. */
void aj_man_synopsis(void);
void aj_man_options(int command);
void aj_man_keys(int site);
void aj_man_codes(void);
void aj_man_result(void);

/* The fields of a result: rows of Markdown, and a JSON Schema. */
void aj_result_table(void);
void aj_result_schema(void);

/* libFuzzer dictionaries: of policies and sites' configurations, of requests to the service, of schemas. */
void aj_dictionary_policies(void);
void aj_dictionary_requests(void);
void aj_dictionary_schemas(void);

/* Python: the keys of a snippet that the jail's reader knows, and the options of the client's runs. */
void aj_snippet_keys(void);
void aj_snippet_client_options(void);

/* The completions of agentjail's command line, for one shell. */
enum { AJ_BASH, AJ_ZSH, AJ_FISH };
void aj_completions(int shell);
