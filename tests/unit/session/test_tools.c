/* Tests of declared tools: what a declaration may hold, what a call from inside and a result from outside must look like.
 * The tables are JSON with ' for ", so that they can be read. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "session/jsonschema/plain.h"
#include "session/tools/tools.h"

static struct aj_tools tools;
static json_t *kept[512];
static size_t kept_count;

static void stop(void)
{
	aj_tools_free(&tools);
	while (kept_count)
		json_decref(kept[--kept_count]);
}
TestSuite(tools, .fini = stop);

static json_t *keep(json_t *value)
{
	cr_assert(value && kept_count < sizeof kept / sizeof *kept);
	return kept[kept_count++] = value;
}

/* JSON that lives until the test ends. */
static json_t *json(const char *text)
{
	char *quoted = strdup(text);
	for (char *c = quoted; *c; c++)
		*c = *c == '\'' ? '"' : *c;
	json_t *value = json_loads(quoted, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
	cr_assert(value, "%s", text);
	free(quoted);
	return keep(value);
}

/* clang-format off: tables of short texts */
#define SCHEMA "'parameters':{'type':'object'}"

static void declare(const char *list)
{
	struct aj_error err = { 0 };
	cr_assert_eq(aj_tools_declare(&tools, json(list), &err), 0, "%s: %s", list, err.cause);
}

Test(tools, a_variadic_one)
{
	declare("[{'name':'a','variadic':'x','parameters':{'type':'object','properties':{'x':{'type':'array'}}}}]");
	cr_expect_str_eq(aj_tools_find(&tools, "a")->variadic, "x");
	json_t *got = keep(aj_tools_json(&tools));
	cr_expect_str_eq(json_string_value(json_object_get(json_array_get(got, 0), "variadic")), "x");
}

Test(tools, a_declaration)
{
	declare("[{'name':'add','description':'Adds.','parameters':{'type':'object','properties':{'a':{'type':'integer'}}},'returns':{'type':'integer'},"
	        "'async':true,'reserved':true,'timeout_ms':1500,'result_bytes':64},{'name':'plain'," SCHEMA "}]");
	const struct aj_tool *add = aj_tools_find(&tools, "add"), *plain = aj_tools_find(&tools, "plain");
	cr_assert(add && plain);
	cr_expect_eq(add->timeout_ms, 1500);
	cr_expect_eq(add->result_bytes, 64);
	cr_expect(add->async);
	cr_expect_eq(plain->timeout_ms, AJ_TOOL_TIMEOUT_MS);
	cr_expect_eq(plain->result_bytes, AJ_TOOL_RESULT_BYTES);
	cr_expect(!plain->async && !plain->returns);
	cr_expect(!aj_tools_find(&tools, "ad") && !aj_tools_find(&tools, "") && !aj_tools_find(&tools, "Add"));
	/* what the guest need not know is not in it */
	json_t *got = keep(aj_tools_json(&tools)),
	       *want = json("[{'name':'add','description':'Adds.','parameters':{'type':'object','properties':{'a':{'type':'integer'}}},'returns':{'type':'integer'},'async':true,'reserved':true},"
	                    "{'name':'plain','description':'','parameters':{'type':'object'},'returns':null,'async':false}]");
	cr_expect(json_equal(got, want), "%s", json_dumps(got, 0));
}

static const struct {
	const char *list, *why;
} bad_lists[] = {
	{ "{}", "tools must be a list of at most 128 tools" },
	{ "null", "tools must be a list of at most 128 tools" },
	{ "[null]", "/0: a tool must be an object" },
	{ "[[]]", "/0: a tool must be an object" },
	{ "[{}]", "/0: `name` is missing" },
	{ "[{'name':'a'}]", "/0: `parameters` is missing" },
	{ "[{" SCHEMA "}]", "/0: `name` is missing" },
	{ "[{'name':'a'," SCHEMA ",'code':'x'}]", "/0/code: unknown key" },
	{ "[{'name':'a'," SCHEMA ",'Async':true}]", "/0/Async: unknown key" },
	{ "[{'name':'ok'," SCHEMA "},{'name':'a'," SCHEMA ",'timeout':1}]", "/1/timeout: unknown key" },
	{ "[{'name':'a'," SCHEMA ",'\\u001b[2J\\u009b':1}]", "/0/?[2J??: unknown key" },
	{ "[{'name':1," SCHEMA "}]", "/0/name: must be a string" },
	{ "[{'name':''," SCHEMA "}]", "/0/name: must have 1 to 64 characters" },
	{ "[{'name':'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'," SCHEMA "}]",
	  "/0/name: must have 1 to 64 characters" },
	{ "[{'name':'1a'," SCHEMA "}]", "/0/name: must be an ASCII identifier" },
	{ "[{'name':'a-b'," SCHEMA "}]", "/0/name: must be an ASCII identifier" },
	{ "[{'name':'a.b'," SCHEMA "}]", "/0/name: must be an ASCII identifier" },
	{ "[{'name':'a b'," SCHEMA "}]", "/0/name: must be an ASCII identifier" },
	{ "[{'name':'a\\n'," SCHEMA "}]", "/0/name: must be an ASCII identifier" },
	{ "[{'name':'\xc3\xa4'," SCHEMA "}]", "/0/name: must be an ASCII identifier" },
	{ "[{'name':'_a'," SCHEMA "}]", "/0/name: must not start with an underscore" },
	{ "[{'name':'__import__'," SCHEMA "}]", "/0/name: must not start with an underscore" },
	{ "[{'name':'class'," SCHEMA "}]", "/0/name: is a keyword of Python" },
	{ "[{'name':'None'," SCHEMA "}]", "/0/name: is a keyword of Python" },
	{ "[{'name':'yield'," SCHEMA "}]", "/0/name: is a keyword of Python" },
	{ "[{'name':'False'," SCHEMA "}]", "/0/name: is a keyword of Python" },
	{ "[{'name':'ToolError'," SCHEMA "}]", "/0/name: is reserved for code in the jail" },
	{ "[{'name':'ToolError'," SCHEMA "}]", "/0/name: is reserved for code in the jail" },
	{ "[{'name':'a'," SCHEMA "},{'name':'b'," SCHEMA "},{'name':'a'," SCHEMA "}]", "/2: two tools have the name `a`" },
	{ "[{'name':'a'," SCHEMA ",'description':null}]", "/0/description: must be a string" },
	{ "[{'name':'a'," SCHEMA ",'async':1}]", "/0/async: must be true or false" },
	{ "[{'name':'a'," SCHEMA ",'async':null}]", "/0/async: must be true or false" },
	{ "[{'name':'a'," SCHEMA ",'reserved':1}]", "/0/reserved: must be true or false" },
	{ "[{'name':'a'," SCHEMA ",'variadic':1}]", "/0/variadic: must be the name of a property in `parameters`" },
	{ "[{'name':'a'," SCHEMA ",'variadic':'x'}]", "/0/variadic: must be the name of a property in `parameters`" },
	{ "[{'name':'a','variadic':'x','parameters':{'type':'object','properties':{'x':{}}}}]",
	  "/0/variadic: must name a property of \"type\": \"array\"" },
	{ "[{'name':'a','variadic':'x','parameters':{'type':'object','properties':{'x':{'type':'array','default':[]}}}}]",
	  "/0/variadic: must name a property without a default" },
	{ "[{'name':'a'," SCHEMA ",'timeout_ms':0}]", "/0/timeout_ms: must be an integer from 1 to 3600000" },
	{ "[{'name':'a'," SCHEMA ",'timeout_ms':-1}]", "/0/timeout_ms: must be an integer from 1 to 3600000" },
	{ "[{'name':'a'," SCHEMA ",'timeout_ms':3600001}]", "/0/timeout_ms: must be an integer from 1 to 3600000" },
	{ "[{'name':'a'," SCHEMA ",'timeout_ms':1.0}]", "/0/timeout_ms: must be an integer from 1 to 3600000" },
	{ "[{'name':'a'," SCHEMA ",'timeout_ms':'1s'}]", "/0/timeout_ms: must be an integer from 1 to 3600000" },
	{ "[{'name':'a'," SCHEMA ",'result_bytes':0}]", "/0/result_bytes: must be an integer from 1 to 16777216" },
	{ "[{'name':'a'," SCHEMA ",'result_bytes':16777217}]", "/0/result_bytes: must be an integer from 1 to 16777216" },
	{ "[{'name':'a','parameters':{}}]", "/0/parameters: must be a schema of \"type\": \"object\", since arguments have names" },
	{ "[{'name':'a','parameters':true}]", "/0/parameters: must be a schema of \"type\": \"object\", since arguments have names" },
	{ "[{'name':'a','parameters':{'type':'array'}}]",
	  "/0/parameters: must be a schema of \"type\": \"object\", since arguments have names" },
	{ "[{'name':'a','parameters':{'type':['object']}}]",
	  "/0/parameters: must be a schema of \"type\": \"object\", since arguments have names" },
	{ "[{'name':'a','parameters':null}]", "/0/parameters: a schema must be an object, true or false" },
	{ "[{'name':'a','parameters':{'type':'object','properties':{'x':{'pattern':'a'}}}}]",
	  "/0/parameters/properties/x/pattern: this keyword is not supported: the time of a regular expression cannot be bounded; use enum or maxLength, and match in the tool" },
	{ "[{'name':'type'," SCHEMA "}]", "/0/name: is reserved for code in the jail" },
	{ "[{'name':'a','parameters':{'type':'object','properties':{'from':{},'from_':{}}}}]",
	  "/0/parameters/properties/from: the name is a keyword, and the name that the jail would use instead, with an underscore, is taken" },
	{ "[{'name':'a','parameters':{'type':'object','properties':{'':{}}}}]",
	  "/0/parameters/properties/: the name must have 1 to 64 characters" },
	{ "[{'name':'a','parameters':{'type':'object','required':['x']}}]", "/0/parameters/required/0: `properties` has no such name" },
	{ "[{'name':'a','parameters':{'type':'object','properties':{'x':{}},'required':['x','y']}}]",
	  "/0/parameters/required/1: `properties` has no such name" },
	{ "[{'name':'a','parameters':{'type':'object','properties':{'w':{},'x':{'type':'integer','default':null}}}}]",
	  "/0/parameters/properties/x: the default does not fit: expected integer, got null" },
	{ "[{'name':'a','parameters':{'type':'object','properties':{'x':{'items':{'type':'null'},'default':[1]}}}}]",
	  "/0/parameters/properties/x: the default does not fit: /0: expected null, got integer" },

	{ "[{'name':'a','parameters':{'type':'object','properties':{'x-y':{}}}}]",
	  "/0/parameters/properties/x-y: the name must be an ASCII identifier" },
	{ "[{'name':'a','parameters':{'type':'object','properties':{'a=1, b':{}}}}]",
	  "/0/parameters/properties/a=1, b: the name must be an ASCII identifier" },
	{ "[{'name':'a','parameters':{'type':'object','properties':{'__x':{}}}}]",
	  "/0/parameters/properties/__x: the name must not start with two underscores" },
	{ "[{'name':'a'," SCHEMA ",'returns':null}]", "/0/returns: must be a schema that is an object" },
	{ "[{'name':'a'," SCHEMA ",'returns':true}]", "/0/returns: must be a schema that is an object" },
	{ "[{'name':'a'," SCHEMA ",'returns':{'items':{'if':true}}}]",
	  "/0/returns/items/if: this keyword is not supported: use anyOf or oneOf" },
};

/* All or nothing: what was there before is there, and nothing else. */
Test(tools, refused_lists)
{
	declare("[{'name':'a'," SCHEMA ",'description':'the first'}]");
	for (size_t i = 0; i < sizeof bad_lists / sizeof *bad_lists; i++) {
		struct aj_error err = { 0 };
		cr_expect_eq(aj_tools_declare(&tools, json(bad_lists[i].list), &err), -1, "%s", bad_lists[i].list);
		cr_expect_str_eq(err.cause, bad_lists[i].why, "%s: %s", bad_lists[i].list, err.cause);
		cr_expect_str_eq(err.step, "tools");
		cr_expect_eq(err.exit_code, AJ_EXIT_USAGE);
		cr_assert_eq(tools.count, 1, "%s", bad_lists[i].list);
		cr_expect_str_eq(aj_tools_find(&tools, "a")->description, "the first");
	}
}

Test(tools, names_that_may_be)
{
	declare("[{'name':'a_1'," SCHEMA "},{'name':'match'," SCHEMA "},{'name':'print'," SCHEMA "},{'name':'Final_answer'," SCHEMA "},"
	        "{'name':'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'," SCHEMA "},"
	        "{'name':'p','parameters':{'type':'object','properties':{'_x':true,'final_answer':true,'type':true,'_':false,"
	        "'from':{'default':{'__type__':'tuple','data':[]},'type':'array'},'None':true,'in_':true}}}]" +
	        0);
}

Test(tools, the_same_name_takes_the_place)
{
	declare("[{'name':'a'," SCHEMA "},{'name':'b'," SCHEMA "}]");
	declare("[{'name':'c'," SCHEMA "},{'name':'a'," SCHEMA ",'description':'new'}]");
	cr_assert_eq(tools.count, 3);
	cr_expect_str_eq(tools.items[0]->description, "new");
	cr_expect_str_eq(tools.items[1]->name, "b");
	cr_expect_str_eq(tools.items[2]->name, "c");
	declare("[]");
	cr_expect_eq(tools.count, 3);
}

static json_t *numbered(int from, int count, const char *description)
{
	json_t *list = json_array();
	for (int i = from; i < from + count; i++) {
		char name[16];
		snprintf(name, sizeof name, "t%d", i);
		json_array_append_new(list, json_pack("{s:s, s:s, s:{s:s}}", "name", name, "description", description,
		                                      "parameters", "type", "object"));
	}
	return keep(list);
}

Test(tools, caps_of_a_set)
{
	struct aj_error err = { 0 };
	cr_expect_eq(aj_tools_declare(&tools, numbered(0, AJ_TOOLS_MAX, ""), &err), 0, "%s", err.cause);
	cr_expect_eq(aj_tools_declare(&tools, numbered(AJ_TOOLS_MAX - 1, 2, "new"), &err), -1);
	cr_expect_str_eq(err.cause, "at most 128 tools can be declared", "%s", err.cause);
	cr_expect_str_eq(tools.items[AJ_TOOLS_MAX - 1]->description, "", "not even the one that is there");
	err = (struct aj_error){ 0 };
	cr_expect_eq(aj_tools_declare(&tools, numbered(0, AJ_TOOLS_MAX + 1, ""), &err), -1);
	cr_expect_str_eq(err.cause, "tools must be a list of at most 128 tools", "%s", err.cause);

	char text[AJ_TOOL_DESCRIPTION_BYTES + 2];
	memset(text, 'x', sizeof text);
	text[AJ_TOOL_DESCRIPTION_BYTES + 1] = '\0';
	err = (struct aj_error){ 0 };
	cr_expect_eq(aj_tools_declare(&tools, numbered(0, 1, text), &err), -1);
	cr_expect_str_eq(err.cause, "/0/description: has more than 8192 bytes", "%s", err.cause);
	text[AJ_TOOL_DESCRIPTION_BYTES] = '\0';
	err = (struct aj_error){ 0 };
	cr_expect_eq(aj_tools_declare(&tools, numbered(0, 100, text), &err), 0, "%s", err.cause);
	cr_expect_eq(aj_tools_declare(&tools, numbered(0, AJ_TOOLS_MAX, text), &err), -1);
	cr_expect_str_eq(err.cause, "the tools take more than 1048576 bytes", "%s", err.cause);
	cr_expect_str_eq(tools.items[AJ_TOOLS_MAX - 1]->description, "");
	json_t *wide = numbered(0, 1, ""), *properties = json_object();
	json_object_set_new(json_object_get(json_array_get(wide, 0), "parameters"), "properties", properties);
	for (int i = 0; i <= AJ_TOOL_PARAMETERS; i++) {
		char name[16];
		snprintf(name, sizeof name, "p%d", i);
		json_object_set_new(properties, name, json_true());
	}
	err = (struct aj_error){ 0 };
	cr_expect_eq(aj_tools_declare(&tools, wide, &err), -1);
	cr_expect_str_eq(err.cause, "/0/parameters: has more than 100 properties", "%s", err.cause);
	json_object_del(properties, "p7");
	err = (struct aj_error){ 0 };
	cr_expect_eq(aj_tools_declare(&tools, wide, &err), 0, "%s", err.cause);
	/* counted while it grows: what comes behind is not looked at */
	json_t *list = numbered(0, AJ_TOOLS_MAX, text);
	for (size_t i = 0; i < AJ_TOOLS_MAX; i++)
		json_object_set_new(json_array_get(list, i), "returns", json_pack("{s:s}", "title", text));
	json_array_set_new(list, AJ_TOOLS_MAX - 1, json_null());
	err = (struct aj_error){ 0 };
	cr_expect_eq(aj_tools_declare(&tools, list, &err), -1);
	cr_expect_str_eq(err.cause, "the tools take more than 1048576 bytes", "%s", err.cause);
	/* those that are there already count, too */
	err = (struct aj_error){ 0 };
	cr_expect_eq(aj_tools_declare(&tools, numbered(100, 28, text), &err), -1);
	cr_expect_str_eq(err.cause, "the tools take more than 1048576 bytes", "%s", err.cause);
}

#define SEARCH                                                                                                                                                     \
	"{'name':'search','parameters':{'type':'object','properties':{'q':{'type':'string'},'n':{'type':'integer','minimum':1},'any':{},'list':{'type':'array'}}," \
	"'required':['q'],'additionalProperties':false},'returns':{'type':'array','items':{'type':'string'}},'result_bytes':20}"

/* `args`: what is handed on, NULL when the call is refused; `why`: NULL when it is not. */
static const struct {
	const char *call, *args, *type, *why;
} calls[] = {
	{ "{'call':0,'tool':'search','args':{'q':'x'}}", "{'q':'x'}", NULL, NULL },
	{ "{'args':{'n':1,'q':''},'call':9007199254740991,'tool':'search'}", "{'q':'','n':1}", NULL, NULL },
	{ "{'call':0,'tool':'none','args':{}}", NULL, "UnknownTool", "no tool has this name" },
	{ "{'call':0,'tool':'','args':{}}", NULL, "UnknownTool", "no tool has this name" },
	{ "{'call':0,'tool':'s\\u0065arch','args':{'q':''}}", NULL, "UnknownTool", "no tool has this name" },
	{ "{'call':0,'tool':'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa','args':{}}", NULL, "UnknownTool",
	  "no tool has this name" },
	{ "{'call':0,'tool':'search','args':{}}", NULL, "ArgumentError", "search: the required key `q` is missing" },
	{ "{'call':0,'tool':'search','args':{'q':1}}", NULL, "ArgumentError", "search: /q: expected string, got integer" },
	{ "{'call':0,'tool':'search','args':{'q':'','m':1}}", NULL, "ArgumentError",
	  "search: /m: unknown key; the known keys are `q`, `n`, `any`, `list`" },
	/* tags */
	{ "{'call':0,'tool':'search','args':{'q':'','list':{'__type__':'tuple','data':[1,{'__type__':'tuple','data':[]}]}}}",
	  "{'q':'','list':[1,[]]}", NULL, NULL },
	{ "{'call':0,'tool':'search','args':{'q':'','any':{'__type__':'tuple','data':[1]}}}", "{'q':'','any':[1]}", NULL, NULL },
	{ "{'call':0,'tool':'search','args':{'q':'','n':{'__type__':'int','data':'9007199254740993'}}}",
	  "{'q':'','n':9007199254740993}", NULL, NULL },
	{ "{'call':0,'tool':'search','args':{'q':'','n':{'__type__':'int','data':'-9007199254740993'}}}", NULL, "ArgumentError",
	  "search: /n: expected at least 1, got -9007199254740993" },
	{ "{'call':0,'tool':'search','args':{'q':'','n':{'__type__':'int','data':'9223372036854775808'}}}", NULL, "ArgumentError",
	  "search: /n: expected integer, got a tagged int" },
	{ "{'call':0,'tool':'search','args':{'q':'','n':{'__type__':'int','data':'0x10'}}}", NULL, "ArgumentError",
	  "search: /n: expected integer, got a tagged int" },
	{ "{'call':0,'tool':'search','args':{'q':'','n':{'__type__':'int','data':' 12'}}}", NULL, "ArgumentError",
	  "search: /n: expected integer, got a tagged int" },
	{ "{'call':0,'tool':'search','args':{'q':'','n':{'__type__':'int','data':'12 '}}}", NULL, "ArgumentError",
	  "search: /n: expected integer, got a tagged int" },
	{ "{'call':0,'tool':'search','args':{'q':'','n':{'__type__':'int','data':12}}}", NULL, "ArgumentError",
	  "search: /n: expected integer, got a tagged int" },
	{ "{'call':0,'tool':'search','args':{'q':'','n':{'__type__':'int','data':'12','more':1}}}", NULL, "ArgumentError",
	  "search: /n: expected integer, got a tagged int" },
	{ "{'call':0,'tool':'search','args':{'q':'','list':{'__type__':'set','data':[1]}}}", NULL, "ArgumentError",
	  "search: /list: expected array, got a tagged set" },
	{ "{'call':0,'tool':'search','args':{'q':'','list':{'__type__':'tuple','data':{}}}}", NULL, "ArgumentError",
	  "search: /list: expected array, got a tagged tuple" },
	{ "{'call':0,'tool':'search','args':{'q':'','any':{'__type__':'set','data':[{'__type__':'tuple','data':[]}]}}}",
	  "{'q':'','any':{'__type__':'set','data':[[]]}}", NULL, NULL },
	{ "{'call':0,'tool':'search','args':{'q':'','any':{'__type__':7}}}", "{'q':'','any':{'__type__':7}}", NULL, NULL },
	{ "{'call':0,'tool':'search','args':{'__type__':'tuple','data':[]}}", NULL, "ArgumentError", "search: expected object, got array" },
	{ "{'call':0,'tool':'search','args':{'__type__':'Path','data':''}}", NULL, "ArgumentError",
	  "search: expected object, got a tagged Path" },
	/* no call at all */
	{ "null", NULL, NULL, "" },
	{ "[]", NULL, NULL, "" },
	{ "'call'", NULL, NULL, "" },
	{ "{}", NULL, NULL, "" },
	{ "{'call':0,'tool':'search'}", NULL, NULL, "" },
	{ "{'call':0,'args':{'q':''}}", NULL, NULL, "" },
	{ "{'tool':'search','args':{'q':''}}", NULL, NULL, "" },
	{ "{'call':0,'tool':'search','args':{'q':''},'more':1}", NULL, NULL, "" },
	{ "{'call':0,'tool':'search','arg':{'q':''}}", NULL, NULL, "" },
	{ "{'call':-1,'tool':'search','args':{'q':''}}", NULL, NULL, "" },
	{ "{'call':9007199254740992,'tool':'search','args':{'q':''}}", NULL, NULL, "" },
	{ "{'call':1.0,'tool':'search','args':{'q':''}}", NULL, NULL, "" },
	{ "{'call':'1','tool':'search','args':{'q':''}}", NULL, NULL, "" },
	{ "{'call':true,'tool':'search','args':{'q':''}}", NULL, NULL, "" },
	{ "{'call':null,'tool':'search','args':{'q':''}}", NULL, NULL, "" },
	{ "{'call':0,'tool':1,'args':{'q':''}}", NULL, NULL, "" },
	{ "{'call':-0,'tool':'search','args':{'q':''}}", NULL, NULL, "" },
	{ "{'call':1e1,'tool':'search','args':{'q':''}}", NULL, NULL, "" },
	{ "{'call':18446744073709551617,'tool':'search','args':{'q':''}}", NULL, NULL, "" },
	{ "{'call':0,'call':0,'tool':'search','args':{'q':''}}", NULL, NULL, "" },
	{ "{'call':0,'call':0,'args':{'q':''}}", NULL, NULL, "" },
	{ "{'call':0,'tool':'search','args':{'q':'','q':''}}", NULL, NULL, "" },
	{ "{'call':0,'tool':'search','args':{'q':''}} 1", NULL, NULL, "" },
	{ "{'call':0,'tool':'search','args':{'q':''}", NULL, NULL, "" },
	{ "[{'call':0,'tool':'search','args':{'q':''}}]", NULL, NULL, "" },
	{ "{'call':0,'tool':null,'args':{'q':''}}", NULL, NULL, "" },
	{ "{'call':0,'tool':'search','args':['x']}", NULL, NULL, "" },
	{ "{'call':0,'tool':'search','args':null}", NULL, NULL, "" },
	{ "{'call':0,'tool':'search','args':'q'}", NULL, NULL, "" },
};

/* Both steps of a call, with ' for ". */
static enum aj_call check_call(const char *text, struct aj_tool_call *ret, const char **ret_type, char *ret_why)
{
	char *quoted = strdup(text);
	struct aj_scan scan = { .max_values = AJ_TOOL_CALL_VALUES };
	for (char *c = quoted; *c; c++)
		*c = *c == '\'' ? '"' : *c;
	aj_scan_feed(&scan, quoted, strlen(quoted));
	enum aj_call r = aj_tools_check_call(&tools, quoted, &scan, ret, ret_type, ret_why, AJ_TOOL_WHY_BYTES);
	if (r == AJ_CALL_OK)
		r = aj_tool_check_args(ret, quoted, &scan, ret_type, ret_why, AJ_TOOL_WHY_BYTES);
	free(quoted);
	return r;
}

Test(tools, calls)
{
	declare("[" SEARCH "]");
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
		struct aj_tool_call got;
		const char *type = "unset";
		char why[AJ_TOOL_WHY_BYTES] = "";
		enum aj_call r = check_call(calls[i].call, &got, &type, why);
		enum aj_call want = calls[i].args ? AJ_CALL_OK : calls[i].type ? AJ_CALL_REFUSED : AJ_CALL_MISSHAPEN;
		cr_expect_eq(r, want, "%s: %d %s", calls[i].call, r, why);
		cr_expect_eq(got.args != NULL, r == AJ_CALL_OK);
		if (r == AJ_CALL_OK)
			cr_expect(json_equal(got.args, json(calls[i].args)), "%s", json_dumps(got.args, 0));
		if (r == AJ_CALL_REFUSED && calls[i].type) {
			cr_expect_str_eq(type, calls[i].type);
			cr_expect_str_eq(why, calls[i].why, "%s: %s", calls[i].call, why);
		}
		if (r == AJ_CALL_MISSHAPEN)
			cr_expect(!type && strstr(why, "not a call of the form "), "%s: %s", calls[i].call, why);
		aj_tool_call_free(&got);
	}
}

Test(tools, a_number_for_what_can_be_answered)
{
	struct aj_tool_call got;
	const char *type;
	char why[AJ_TOOL_WHY_BYTES];
	declare("[" SEARCH "]");
	cr_expect_eq(check_call("{'call':41,'tool':'none','args':{}}", &got, &type, why), AJ_CALL_REFUSED);
	cr_expect_eq(got.number, 41);
	cr_expect_eq(check_call("{'call':42,'tool':'search','args':{}}", &got, &type, why), AJ_CALL_REFUSED);
	cr_expect_eq(got.number, 42);
}

Test(tools, a_call_keeps_its_tool)
{
	struct aj_tool_call got;
	const char *type;
	char why[AJ_TOOL_WHY_BYTES];
	declare("[" SEARCH "]");
	cr_assert_eq(check_call("{'call':1,'tool':'search','args':{'q':''}}", &got, &type, why), AJ_CALL_OK);
	cr_expect_eq(got.tool->references, 2);
	declare("[{'name':'search'," SCHEMA ",'returns':{'type':'null'}}]");
	cr_expect_eq(got.tool->references, 1, "what nobody calls is freed when it is replaced");
	aj_tools_free(&tools);
	cr_expect_str_eq(got.tool->name, "search");
	cr_expect(aj_tool_check_result(got.tool, json("['x']"), why, sizeof why), "%s", why);
	cr_expect(!aj_tool_check_result(got.tool, json("null"), why, sizeof why));
	aj_tool_call_free(&got);
	cr_expect(!got.tool && !got.args);
	aj_tool_call_free(&got);
}

/* One value more is refused before a tree is made. */
Test(tools, arguments_have_so_many_values)
{
	static char text[AJ_TOOL_ARGUMENT_VALUES * 2 + 100];
	struct aj_tool_call got;
	const char *type;
	char why[AJ_TOOL_WHY_BYTES];
	declare("[{'name':'t'," SCHEMA "}]");
	for (int items = AJ_TOOL_ARGUMENT_VALUES - 2; items < AJ_TOOL_ARGUMENT_VALUES; items++) {
		char *at = text + sprintf(text, "{'call':1,'tool':'t','args':{'x':[1");
		for (int i = 1; i < items; i++, at += 2)
			memcpy(at, ",1", 2);
		strcpy(at, "]}}");
		bool fits = items + 2 <= AJ_TOOL_ARGUMENT_VALUES; /* itself, and the list */
		cr_expect_eq(check_call(text, &got, &type, why), fits ? AJ_CALL_OK : AJ_CALL_REFUSED, "%d: %s", items, why);
		cr_expect_eq(got.tool != NULL, fits);
		aj_tool_call_free(&got);
	}
	cr_expect_str_eq(type, AJ_TOOL_ARGUMENTS);
	cr_expect_str_eq(why, "t: the arguments have too many values, of at most 10000");
}

/* The call's number must be known by then, or no answer can be sent. */
Test(tools, a_call_of_too_many_values_is_refused_by_its_beginning)
{
	static char values[AJ_TOOL_CALL_VALUES * 2 + 1], text[sizeof values + 100];
	static const struct {
		const char *before, *after;
		enum aj_call want;
	} shapes[] = {
		{ "{'call':7,'tool':'t','args':{'x':[", "1", AJ_CALL_REFUSED },
		{ "{'call':7,'tool':'none','args':{'x':[", "]}}", AJ_CALL_REFUSED },
		{ "{'call':7,'args':{'x':[", "]},'tool':'t'}", AJ_CALL_MISSHAPEN },
		{ "{'call':7,'tool':'t','args':[", "]}", AJ_CALL_MISSHAPEN },
		{ "[", "]", AJ_CALL_MISSHAPEN },
	};
	struct aj_tool_call got;
	const char *type;
	char why[AJ_TOOL_WHY_BYTES];
	declare("[{'name':'t'," SCHEMA "}]");
	for (size_t i = 0; i + 2 < sizeof values; i += 2)
		memcpy(values + i, "1,", 2);
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		snprintf(text, sizeof text, "%s%s%s", shapes[i].before, values, shapes[i].after);
		cr_expect_eq(check_call(text, &got, &type, why), shapes[i].want, "%s: %s", shapes[i].before, why);
		cr_expect_null(got.tool);
		cr_expect(shapes[i].want != AJ_CALL_REFUSED || got.number == 7);
	}
}

/* [[[...]]], `depth` of them. */
static json_t *nested(int depth, const char *middle)
{
	char *text = calloc(1, (size_t)depth * 2 + strlen(middle) + 1);
	memset(text, '[', (size_t)depth);
	strcpy(text + depth, middle);
	memset(text + strlen(text), ']', (size_t)depth);
	json_t *value = json(text);
	free(text);
	return value;
}

Test(tools, plain_values)
{
	const char *why;
	json_t *value = nested(AJ_VALUE_MAX_DEPTH, ""), *same = aj_plain(value, &why);
	cr_expect_eq(same, value, "without tags nothing is copied");
	json_decref(same);
	cr_expect(!aj_plain(nested(AJ_VALUE_MAX_DEPTH + 1, ""), &why));
	cr_expect_str_eq(why, "the value is nested too deep");
	/* each tag is two levels */
	json_t *tags = nested(AJ_VALUE_MAX_DEPTH - 3, "{'__type__':'tuple','data':[]}"), *plain = aj_plain(tags, &why);
	cr_expect(plain && json_equal(plain, nested(AJ_VALUE_MAX_DEPTH - 2, "")));
	json_decref(plain);

	json_t *list = keep(json_array()), *one = json("1");
	for (int i = 0; i < AJ_VALUE_MAX_NODES - 1; i++)
		json_array_append(list, one);
	plain = aj_plain(list, &why);
	cr_expect(plain);
	json_decref(plain);
	json_array_append(list, one);
	cr_expect(!aj_plain(list, &why));
	cr_expect_str_eq(why, "the value has too many parts");
}

static const struct {
	const char *value, *why; /* why: NULL when it fits */
} results[] = {
	{ "[]", NULL },
	{ "['a','b']", NULL },
	{ "['1234567890123456']", NULL }, /* 20 bytes */
	{ "['12345678901234567']", "search: result: it has 21 bytes, of at most 20" },
	{ "['\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac\xe2\x82\xac']", "search: result: it has 22 bytes, of at most 20" },
	{ "'a'", "search: result: expected array, got string" },
	{ "['a',1]", "search: result/1: expected string, got integer" },
	{ "null", "search: result: expected array, got null" },
};

Test(tools, results)
{
	declare("[" SEARCH ",{'name':'free'," SCHEMA "},{'name':'tuple'," SCHEMA ",'returns':{'type':'array'}}]");
	for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
		char why[AJ_TOOL_WHY_BYTES] = "";
		bool fits = aj_tool_check_result(aj_tools_find(&tools, "search"), json(results[i].value), why, sizeof why);
		cr_expect_eq(fits, !results[i].why, "%s: %s", results[i].value, why);
		cr_expect_str_eq(why, results[i].why ? results[i].why : "");
	}
	char why[AJ_TOOL_WHY_BYTES] = "";
	cr_expect(aj_tool_check_result(aj_tools_find(&tools, "free"), json("{'__type__':'set','data':[1]}"), why, sizeof why), "%s", why);
	cr_expect(aj_tool_check_result(aj_tools_find(&tools, "free"), json("null"), why, sizeof why), "%s", why);
	cr_expect(aj_tool_check_result(aj_tools_find(&tools, "tuple"), json("{'__type__':'tuple','data':[1]}"), why, sizeof why),
	          "%s", why);
	cr_expect(!aj_tool_check_result(aj_tools_find(&tools, "tuple"), json("{'__type__':'set','data':[1]}"), why, sizeof why));
	cr_expect_str_eq(why, "tuple: result: expected array, got a tagged set", "%s", why);
	cr_expect(!aj_tool_check_result(aj_tools_find(&tools, "free"), nested(AJ_VALUE_MAX_DEPTH + 1, ""), why, sizeof why));
	cr_expect_str_eq(why, "free: result: the value is nested too deep", "%s", why);
}

static const struct {
	const char *type, *message, *want_type, *want_message;
} errors[] = {
	{ "ValueError", "no such city", "ValueError", "no such city" },
	{ "E_1", "a\n\tb", "E_1", "a\n\tb" },
	{ "", "", "ToolFailure", "" },
	{ NULL, "x", "ToolFailure", "x" },
	{ "Value Error", "x", "ToolFailure", "x" },
	{ "requests.Timeout", "x", "ToolFailure", "x" },
	{ "1E", "x", "ToolFailure", "x" },
	{ "E\n", "x", "ToolFailure", "x" },
	{ "\xc3\xa4", "x", "ToolFailure", "x" },
	{ "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "x",
	  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "x" },
	{ "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "x", "ToolFailure", "x" },
	{ "E", "\x1b[2J\r\x7f\xc2\x9b\xc2\xa0", "E", " [2J   \xc2\xa0" },
	{ "E", "\xff\xc3(\xe2\x82", "E", "\xef\xbf\xbd\xef\xbf\xbd(\xef\xbf\xbd\xef\xbf\xbd" },
};

Test(tools, errors_for_the_inside)
{
	for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
		json_t *got = keep(aj_tools_error_json(errors[i].type, errors[i].message, strlen(errors[i].message)));
		cr_expect_eq(json_object_size(got), 2);
		cr_expect_str_eq(json_string_value(json_object_get(got, "type")), errors[i].want_type);
		cr_expect_str_eq(json_string_value(json_object_get(got, "message")), errors[i].want_message);
	}
	/* a NUL is a control character like any other */
	json_t *got = keep(aj_tools_error_json("E", "a\0b", 3));
	cr_expect_str_eq(json_string_value(json_object_get(got, "message")), "a b");
}

/* However the cut falls, it is between characters. */
Test(tools, long_errors_are_cut)
{
	char text[3000];
	for (size_t start = 0; start < 4; start++) {
		memset(text, 'x', start);
		for (size_t at = start; at + 4 <= sizeof text; at += 4)
			memcpy(text + at, "\xf0\x9f\x90\x8d", 4);
		json_t *got = keep(aj_tools_error_json("E", text, sizeof text));
		const json_t *message = json_object_get(got, "message");
		cr_assert(message);
		size_t bytes = json_string_length(message);
		cr_expect_eq(bytes, start == 0 ? 2000 : 1996 + start, "%zu: %zu", start, bytes);
		cr_expect_eq(aj_utf8_valid_prefix(json_string_value(message), bytes), bytes);
	}
}
