/* Tests of the subset of JSON Schema: what is refused at declaration, what fits, and the words and pointers of what does not.
 * The tables are JSON with ' for ", so that they can be read; every keyword of the code's table must occur in them. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "session/jsonschema/keyword.h"

static struct aj_arena arena;
static json_t *kept[4096];
static size_t kept_count;

static void stop(void)
{
	while (kept_count)
		json_decref(kept[--kept_count]);
	aj_arena_free(&arena);
}
TestSuite(json_schema, .fini = stop);

/* JSON that lives until the test ends. */
static json_t *json(const char *text)
{
	json_error_t err;
	char *quoted = strdup(text);
	for (char *c = quoted; *c; c++)
		*c = *c == '\'' ? '"' : *c;
	json_t *value = json_loads(quoted, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &err);
	cr_assert(value, "%s: %s", text, err.text);
	free(quoted);
	cr_assert_lt(kept_count, sizeof kept / sizeof *kept);
	return kept[kept_count++] = value;
}

static json_t *keep(json_t *value)
{
	return kept[kept_count++] = value;
}

static const struct aj_schema *compiled(const char *text)
{
	char why[AJ_SCHEMA_WHY_BYTES] = "";
	const struct aj_schema *schema = aj_schema_compile(&arena, json(text), why, sizeof why);
	cr_assert(schema, "%s: %s", text, why);
	return schema;
}

/* clang-format off: tables of short texts */

/* `why`: NULL when the value fits, else the whole reason. */
static const struct {
	const char *schema, *value, *why;
} checks[] = {
	{ "true", "null", NULL },
	{ "true", "{'a':[1]}", NULL },
	{ "{}", "'x'", NULL },
	{ "false", "null", "no value is allowed here" },
	{ "{'properties':{'a':false}}", "{}", NULL },
	{ "{'properties':{'a':false}}", "{'a':1}", "/a: no value is allowed here" },

	{ "{'type':'null'}", "null", NULL },
	{ "{'type':'null'}", "0", "expected null, got integer" },
	{ "{'type':'boolean'}", "true", NULL },
	{ "{'type':'boolean'}", "false", NULL },
	{ "{'type':'boolean'}", "1", "expected boolean, got integer" },
	{ "{'type':'boolean'}", "'true'", "expected boolean, got string" },
	{ "{'type':'integer'}", "0", NULL },
	{ "{'type':'integer'}", "-9223372036854775808", NULL },
	{ "{'type':'integer'}", "1.0", NULL },
	{ "{'type':'integer'}", "1e300", NULL },
	{ "{'type':'integer'}", "-0.0", NULL },
	{ "{'type':'integer'}", "1.5", "expected integer, got number" },
	{ "{'type':'integer'}", "true", "expected integer, got boolean" },
	{ "{'type':'integer'}", "'1'", "expected integer, got string" },
	{ "{'type':'number'}", "1", NULL },
	{ "{'type':'number'}", "-1.5e-7", NULL },
	{ "{'type':'number'}", "null", "expected number, got null" },
	{ "{'type':'string'}", "''", NULL },
	{ "{'type':'string'}", "[]", "expected string, got array" },
	{ "{'type':'array'}", "[]", NULL },
	{ "{'type':'array'}", "{}", "expected array, got object" },
	{ "{'type':'object'}", "{}", NULL },
	{ "{'type':'object'}", "[[]]", "expected object, got array" },
	{ "{'type':['integer','null']}", "null", NULL },
	{ "{'type':['integer','null']}", "7", NULL },
	{ "{'type':['integer','null']}", "7.5", "expected null or integer, got number" },
	{ "{'type':['array','string','number','integer']}", "true", "expected number, string or array, got boolean" },

	{ "{'enum':['a',1,null,[1,{'b':2}]]}", "'a'", NULL },
	{ "{'enum':['a',1,null,[1,{'b':2}]]}", "1.0", NULL },
	{ "{'enum':['a',1,null,[1,{'b':2}]]}", "null", NULL },
	{ "{'enum':['a',1,null,[1,{'b':2}]]}", "[1.0,{'b':2}]", NULL },
	{ "{'enum':['a',1,null,[1,{'b':2}]]}", "true", "expected one of \"a\", 1, null, [1,{\"b\":2}]" },
	{ "{'enum':['a',1,null,[1,{'b':2}]]}", "[1,{'b':3}]", "expected one of \"a\", 1, null, [1,{\"b\":2}]" },
	{ "{'enum':['a',1,null,[1,{'b':2}]]}", "[1,{'c':2}]", "expected one of \"a\", 1, null, [1,{\"b\":2}]" },
	{ "{'enum':['a',1,null,[1,{'b':2}]]}", "[1,{'b':2},3]", "expected one of \"a\", 1, null, [1,{\"b\":2}]" },
	{ "{'enum':[0]}", "false", "expected one of 0" },
	{ "{'enum':[false]}", "0", "expected one of false" },
	{ "{'enum':['']}", "null", "expected one of \"\"" },
	{ "{'enum':['aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa']}", "1",
	  "expected one of \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...\"" },
	{ "{'enum':['\xc3\xa4\\n']}", "1", "expected one of \"\xc3\xa4?\"" },
	{ "{'const':{'a':[1,2],'b':null}}", "{'b':null,'a':[1,2.0]}", NULL },
	{ "{'const':{'a':[1,2],'b':null}}", "{'b':null,'a':[2,1]}", "expected {\"a\":[1,2],\"b\":null}" },
	{ "{'const':{'a':[1,2],'b':null}}", "{'a':[1,2]}", "expected {\"a\":[1,2],\"b\":null}" },
	{ "{'const':{'a':1}}", "{'a':1,'b':2}", "expected {\"a\":1}" },
	{ "{'const':{'a':1,'b':2}}", "{'a':1,'c':2}", "expected {\"a\":1,\"b\":2}" },
	{ "{'const':null}", "null", NULL },
	{ "{'const':null}", "false", "expected null" },
	{ "{'const':9007199254740993}", "9007199254740993", NULL },
	{ "{'const':9007199254740993}", "9007199254740992.0", "expected 9007199254740993" },
	{ "{'const':9223372036854775807}", "9223372036854775808.0", "expected 9223372036854775807" },

	{ "{'required':['a','b']}", "{'a':null,'b':1}", NULL },
	{ "{'required':['a','b']}", "{'a':1}", "the required key `b` is missing" },
	{ "{'required':[]}", "{}", NULL },
	{ "{'required':['a']}", "[]", NULL },
	{ "{'properties':{'x':{'required':['a']}}}", "{'x':{}}", "/x: the required key `a` is missing" },
	{ "{'minProperties':1}", "{'a':1}", NULL },
	{ "{'minProperties':1}", "{}", "expected at least 1 keys, got 0" },
	{ "{'maxProperties':1}", "{'a':1}", NULL },
	{ "{'maxProperties':1}", "{'a':1,'b':2}", "expected at most 1 keys, got 2" },
	{ "{'maxProperties':1}", "[1,2]", NULL },
	{ "{'properties':{'a':{'type':'string'}}}", "{'a':'x','b':1}", NULL },
	{ "{'properties':{'a':{'type':'string'}}}", "{'b':1}", NULL },
	{ "{'properties':{'a':{'type':'string'}}}", "'a'", NULL },
	{ "{'properties':{'a':{'type':'string'}}}", "{'b':1,'a':2}", "/a: expected string, got integer" },
	{ "{'properties':{'a/b':{'properties':{'c~d':{'type':'null'}}}}}", "{'a/b':{'c~d':1}}", "/a~1b/c~0d: expected null, got integer" },
	{ "{'properties':{'':{'type':'null'}}}", "{'':1}", "/: expected null, got integer" },
	{ "{'additionalProperties':false}", "{}", NULL },
	{ "{'additionalProperties':false}", "{'a':1}", "/a: unknown key" },
	{ "{'additionalProperties':false}", "[1]", NULL },
	{ "{'properties':{'a':true,'b':{}},'additionalProperties':false}", "{'b':2}", NULL },
	{ "{'properties':{'a':true,'b':{}},'additionalProperties':false}", "{'b':2,'c':3}", "/c: unknown key; the known keys are `a`, `b`" },
	{ "{'properties':{'a':true},'additionalProperties':{'type':'integer'}}", "{'a':'x','c':3}", NULL },
	{ "{'properties':{'a':true},'additionalProperties':{'type':'integer'}}", "{'a':'x','c':'y'}", "/c: expected integer, got string" },
	{ "{'properties':{'a':true},'additionalProperties':true}", "{'c':'y'}", NULL },
	{ "{'allOf':[{'properties':{'a':true}}],'additionalProperties':false}", "{'a':1}", "/a: unknown key" },
	{ "{'additionalProperties':{'type':'null'}}", "{'a\\u0007b\\u0085c\\u202e':1}", "/a?b??c\xe2\x80\xae: expected null, got integer" },

	{ "{'minItems':2}", "[1,2]", NULL },
	{ "{'minItems':2}", "[1]", "expected at least 2 items, got 1" },
	{ "{'minItems':2.0}", "[1]", "expected at least 2 items, got 1" },
	{ "{'minItems':2}", "'a'", NULL },
	{ "{'maxItems':0}", "[]", NULL },
	{ "{'maxItems':0}", "[null]", "expected at most 0 items, got 1" },
	{ "{'prefixItems':[{'type':'string'},{'type':'integer'}]}", "['a',1,null]", NULL },
	{ "{'prefixItems':[{'type':'string'},{'type':'integer'}]}", "['a']", NULL },
	{ "{'prefixItems':[{'type':'string'},{'type':'integer'}]}", "[]", NULL },
	{ "{'prefixItems':[{'type':'string'},{'type':'integer'}]}", "['a','b']", "/1: expected integer, got string" },
	{ "{'prefixItems':[true],'items':false}", "[1]", NULL },
	{ "{'prefixItems':[true],'items':false}", "[1,2]", "/1: no value is allowed here" },
	{ "{'prefixItems':[true],'items':{'type':'string'}}", "[1,'a','b']", NULL },
	{ "{'prefixItems':[true],'items':{'type':'string'}}", "[1,'a',2]", "/2: expected string, got integer" },
	{ "{'items':{'type':'string'}}", "[]", NULL },
	{ "{'items':{'type':'string'}}", "['a',1]", "/1: expected string, got integer" },
	{ "{'items':{'type':'string'}}", "{'a':1}", NULL },
	{ "{'properties':{'items':{'items':{'properties':{'price':{'type':'number'}}}}}}",
	  "{'items':[{},{'price':1},{'price':1.5},{'price':'2'}]}", "/items/3/price: expected number, got string" },
	{ "{'uniqueItems':true}", "[]", NULL },
	{ "{'uniqueItems':true}", "[1,2,'1',true,null,[1],{'a':1},{'a':2},{'b':1},[],{},'']", NULL },
	{ "{'uniqueItems':true}", "[1,2,1.0]", "items 0 and 2 are equal" },
	{ "{'uniqueItems':true}", "[0,-0.0]", "items 0 and 1 are equal" },
	{ "{'uniqueItems':true}", "[9007199254740992,9007199254740993]", NULL },
	{ "{'uniqueItems':true}", "[9007199254740992,9007199254740992.0]", "items 0 and 1 are equal" },
	{ "{'uniqueItems':true}", "[3,{'a':1,'b':[2]},4,{'b':[2],'a':1}]", "items 1 and 3 are equal" },
	{ "{'uniqueItems':true}", "['a','b','c','b']", "items 1 and 3 are equal" },
	{ "{'uniqueItems':true}", "[[1,2],[2,1]]", NULL },
	{ "{'uniqueItems':true}", "[0,false,null,'',[],{}]", NULL },
	{ "{'uniqueItems':false}", "[1,1]", NULL },
	{ "{'uniqueItems':true}", "'aa'", NULL },

	{ "{'minLength':2}", "'ab'", NULL },
	{ "{'minLength':2}", "'\xf0\x9f\x90\x8d'", "expected at least 2 code points, got 1" },
	{ "{'minLength':2}", "'a\xcc\x88'", NULL },
	{ "{'minLength':1}", "''", "expected at least 1 code points, got 0" },
	{ "{'minLength':2}", "[]", NULL },
	{ "{'maxLength':2}", "'\xc3\xa4\xe2\x82\xac'", NULL },
	{ "{'maxLength':2}", "'\\ud83d\\udc0d\\ud83d\\udc0d'", NULL },
	{ "{'maxLength':2}", "'abc'", "expected at most 2 code points, got 3" },

	{ "{'minimum':1}", "1", NULL },
	{ "{'minimum':1}", "1.0", NULL },
	{ "{'minimum':1}", "0.5", "expected at least 1, got 0.5" },
	{ "{'minimum':1}", "'0'", NULL },
	{ "{'minimum':9007199254740993}", "9007199254740993", NULL },
	{ "{'minimum':9007199254740993}", "9007199254740992", "expected at least 9007199254740993, got 9007199254740992" },
	{ "{'minimum':9007199254740993}", "9007199254740992.0", "expected at least 9007199254740993, got 9007199254740992.0" },
	{ "{'maximum':10}", "10", NULL },
	{ "{'maximum':10}", "11", "expected at most 10, got 11" },
	{ "{'maximum':9223372036854775807}", "9223372036854775808.0", "expected at most 9223372036854775807, got 9.2233720368547758e18" },
	{ "{'maximum':-1.5}", "-1.5", NULL },
	{ "{'maximum':-1.5}", "-1", "expected at most -1.5, got -1" },
	{ "{'exclusiveMinimum':0}", "1e-300", NULL },
	{ "{'exclusiveMinimum':0}", "0", "expected more than 0, got 0" },
	{ "{'exclusiveMinimum':0}", "-0.0", "expected more than 0, got -0.0" },
	{ "{'exclusiveMaximum':1}", "0.9999999999999999", NULL },
	{ "{'exclusiveMaximum':1}", "1", "expected less than 1, got 1" },
	{ "{'multipleOf':3}", "9", NULL },
	{ "{'multipleOf':3}", "-9.0", NULL },
	{ "{'multipleOf':3}", "0", NULL },
	{ "{'multipleOf':3}", "10", "expected a multiple of 3, got 10" },
	{ "{'multipleOf':3}", "9.3", "expected a multiple of 3, got 9.3000000000000007" },
	{ "{'multipleOf':3}", "9223372036854775807", "expected a multiple of 3, got 9223372036854775807" },
	{ "{'multipleOf':7}", "9223372036854775807", NULL },
	{ "{'multipleOf':1048576}", "9007199254740993", "expected a multiple of 1048576, got 9007199254740993" },
	{ "{'multipleOf':0.01}", "19.99", NULL },
	{ "{'multipleOf':0.01}", "-1234567.89", NULL },
	{ "{'multipleOf':0.01}", "19.995", "expected a multiple of 0.01, got 19.995000000000001" },
	{ "{'multipleOf':0.1}", "0.3", NULL },
	{ "{'multipleOf':0.0001}", "0.0075", NULL },
	{ "{'multipleOf':0.0001}", "0.00751", "expected a multiple of 0.0001, got 0.0075100000000000002" },
	{ "{'multipleOf':0.5}", "1e308", NULL },
	{ "{'multipleOf':1e-300}", "1e300", "expected a multiple of 1e-300, got 1.0000000000000001e300" },
	{ "{'multipleOf':0.01}", "1e17", "expected a multiple of 0.01, got 1e17" },
	{ "{'multipleOf':0.25}", "1e17", NULL },
	{ "{'multipleOf':2}", "'3'", NULL },

	{ "{'$defs':{'a':{'type':'string'}},'$ref':'#/$defs/a'}", "'x'", NULL },
	{ "{'$defs':{'a':{'type':'string'}},'$ref':'#/$defs/a'}", "1", "expected string, got integer" },
	{ "{'$defs':{'a':{'type':'string'}},'$ref':'#/$defs/a','maxLength':1}", "'xy'", "expected at most 1 code points, got 2" },
	{ "{'$defs':{'t':{'properties':{'next':{'$ref':'#/$defs/t'},'v':{'type':'integer'}}}},'$ref':'#/$defs/t'}",
	  "{'v':1,'next':{'v':2,'next':{}}}", NULL },
	{ "{'$defs':{'t':{'properties':{'next':{'$ref':'#/$defs/t'},'v':{'type':'integer'}}}},'$ref':'#/$defs/t'}",
	  "{'v':1,'next':{'v':2,'next':{'v':'3'}}}", "/next/next/v: expected integer, got string" },
	{ "{'$defs':{'a':{'items':{'$ref':'#/$defs/b'}},'b':{'type':'object','additionalProperties':{'$ref':'#/$defs/a'}}},'$ref':'#/$defs/a'}",
	  "[{'x':[{'y':[1]}]}]", "/0/x/0/y/0: expected object, got integer" },
	{ "{'$defs':{'unused':false}}", "1", NULL },
	{ "{'allOf':[{'minimum':1},{'maximum':3}]}", "2", NULL },
	{ "{'allOf':[{'minimum':1},{'maximum':3}]}", "4", "expected at most 3, got 4" },
	{ "{'allOf':[{'minimum':1},{'maximum':3}]}", "0", "expected at least 1, got 0" },
	{ "{'anyOf':[{'type':'integer'},{'type':'null'}]}", "null", NULL },
	{ "{'anyOf':[{'type':'integer'},{'type':'null'}]}", "'x'", "expected null or integer, got string" },
	{ "{'anyOf':[{'type':'integer','minimum':5},{'type':'null'}]}", "4", "fits none of the 2 schemas in anyOf" },
	{ "{'anyOf':[{'minimum':5}]}", "4", "expected at least 5, got 4" },
	{ "{'anyOf':[{'type':'integer'},false]}", "'x'", "expected integer, got string" },
	{ "{'anyOf':[false,false]}", "'x'", "fits none of the 2 schemas in anyOf" },
	{ "{'oneOf':[{'minimum':5},{'maximum':2}]}", "6", NULL },
	{ "{'oneOf':[{'minimum':5},{'maximum':2}]}", "3", "fits none of the 2 schemas in oneOf" },
	{ "{'oneOf':[{'minimum':2},{'maximum':5}]}", "3", "fits more than one of the 2 schemas in oneOf" },
	{ "{'oneOf':[{'type':'string'},{'type':'integer'}]}", "[]", "expected integer or string, got array" },
	{ "{'oneOf':[{'minimum':5}]}", "4", "expected at least 5, got 4" },
	{ "{'not':{'type':'string'}}", "1", NULL },
	{ "{'not':{'type':'string'}}", "'x'", "fits a schema that it must not fit (not)" },
	{ "{'not':{}}", "1", "fits a schema that it must not fit (not)" },
	{ "{'not':{'not':{'type':'string'}}}", "'x'", NULL },
	{ "{'not':{'not':{'type':'string'}}}", "1", "fits a schema that it must not fit (not)" },
	{ "{'properties':{'a':{'not':{'required':['b']}}}}", "{'a':{'b':1}}", "/a: fits a schema that it must not fit (not)" },

	/* annotations promise nothing */
	{ "{'$schema':'https://json-schema.org/draft/2020-12/schema','$comment':'c','title':'t','description':'d','default':7,'examples':[1],"
	  "'deprecated':true,'readOnly':true,'writeOnly':false,'format':'email'}",
	  "'no address'", NULL },
	{ "{'$schema':'http://json-schema.org/draft-07/schema#'}", "1", NULL },
	{ "{'properties':{'a':{'default':1}},'required':['a']}", "{}", "the required key `a` is missing" },

	/* tags are values of their own, whatever the schema says of objects */
	{ "{}", "{'__type__':'set','data':[1]}", NULL },
	{ "{'required':['x'],'additionalProperties':false,'maxProperties':0}", "{'__type__':'set','data':[1]}", NULL },
	{ "{'type':'object'}", "{'__type__':'set','data':[1]}", "expected object, got a tagged set" },
	{ "{'type':'array'}", "{'__type__':'tuple','data':[1]}", "expected array, got a tagged tuple" },
	{ "{'type':'string'}", "{'__type__':'PIL.Image','data':''}", "expected string, got a tagged PIL.Image" },
	{ "{'type':'string'}", "{'__type__':'str','data':'7aCA'}", "expected string, got a string with a lone surrogate" },
	{ "{'type':['null','boolean','integer','number','string','array','object']}", "{'__type__':''}",
	  "expected null, boolean, number, string, array or object, got a tagged value" },
	{ "{'type':'array'}", "{'__type__':'\\u001b[2J'}", "expected array, got a tagged value" },
	{ "{'type':'object'}", "{'__type__':1}", NULL },
	{ "{'const':{'__type__':'bytes','data':'eA=='}}", "{'__type__':'bytes','data':'eA=='}", NULL },
};

Test(json_schema, what_fits_and_what_does_not)
{
	for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
		char why[AJ_SCHEMA_WHY_BYTES] = "";
		bool fits = aj_schema_check(compiled(checks[i].schema), json(checks[i].value), why, sizeof why);
		cr_expect_eq(fits, !checks[i].why, "%s: %s: %s", checks[i].schema, checks[i].value, fits ? "fits" : why);
		cr_expect_str_eq(why, checks[i].why ? checks[i].why : "", "%s: %s: %s", checks[i].schema, checks[i].value, why);
	}
}

/* Every keyword that checks occurs above with a value that fits and with one that does not. */
Test(json_schema, every_keyword_is_tried)
{
	for (const struct aj_keyword *k = aj_keywords; k->name; k++) {
		size_t fit = 0, unfit = 0;
		for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
			char name[40];
			snprintf(name, sizeof name, "'%s':", k->name);
			if (strstr(checks[i].schema, name))
				++*(checks[i].why ? &unfit : &fit);
		}
		cr_expect(fit && (unfit || !k->check), "%s: %zu, %zu", k->name, fit, unfit);
	}
}

static const struct {
	const char *schema, *why;
} refused[] = {
	{ "null", "a schema must be an object, true or false" },
	{ "[]", "a schema must be an object, true or false" },
	{ "'string'", "a schema must be an object, true or false" },
	{ "{'Type':'string'}", "/Type: this keyword is unknown" },
	{ "{'':1}", "/: this keyword is unknown" },
	{ "{'x-mine':1}", "/x-mine: this keyword is unknown" },
	{ "{'properties':{'a':{'items':{'minlength':1}}}}", "/properties/a/items/minlength: this keyword is unknown" },
	{ "{'properties':{'a':{'pattern':'(a+)+$'}}}",
	  "/properties/a/pattern: this keyword is not supported: the time of a regular expression cannot be bounded; use enum or maxLength, and match in the tool" },
	{ "{'items':[{}]}", "/items: takes one schema; since 2020-12 the keyword for a list of schemas is prefixItems" },
	{ "{'items':1}", "/items: a schema must be an object, true or false" },
	{ "{'type':'text'}", "/type: takes null, boolean, integer, number, string, array, object, or a list of them" },
	{ "{'type':'any'}", "/type: takes null, boolean, integer, number, string, array, object, or a list of them" },
	{ "{'type':null}", "/type: takes null, boolean, integer, number, string, array, object, or a list of them" },
	{ "{'type':[]}", "/type: an empty list, which no value would fit" },
	{ "{'type':['string',1]}", "/type: takes null, boolean, integer, number, string, array, object, or a list of them" },
	{ "{'type':['string','string']}", "/type: names a type twice" },
	{ "{'enum':[]}", "/enum: takes a list of at least one value" },
	{ "{'enum':'a'}", "/enum: takes a list of at least one value" },
	{ "{'required':'a'}", "/required: takes a list of different names" },
	{ "{'required':[1]}", "/required: takes a list of different names" },
	{ "{'required':['a','b','a']}", "/required: takes a list of different names" },
	{ "{'properties':[]}", "/properties: takes an object of schemas" },
	{ "{'properties':{'a':null}}", "/properties/a: a schema must be an object, true or false" },
	{ "{'properties':{'__type__':{}}}", "/properties/__type__: this is the name of a typed tag, which is not an object" },
	{ "{'properties':{'a':{'properties':{'__type__':{}}}}}",
	  "/properties/a/properties/__type__: this is the name of a typed tag, which is not an object" },
	{ "{'additionalProperties':null}", "/additionalProperties: a schema must be an object, true or false" },
	{ "{'additionalProperties':{'typ':1}}", "/additionalProperties/typ: this keyword is unknown" },
	{ "{'prefixItems':{}}", "/prefixItems: takes a list of at least one schema" },
	{ "{'prefixItems':[]}", "/prefixItems: takes a list of at least one schema" },
	{ "{'prefixItems':[true,1]}", "/prefixItems/1: a schema must be an object, true or false" },
	{ "{'uniqueItems':1}", "/uniqueItems: takes true or false" },
	{ "{'minItems':-1}", "/minItems: takes a whole number of at least 0" },
	{ "{'maxItems':1.5}", "/maxItems: takes a whole number of at least 0" },
	{ "{'minLength':'1'}", "/minLength: takes a whole number of at least 0" },
	{ "{'maxLength':null}", "/maxLength: takes a whole number of at least 0" },
	{ "{'maxLength':1e300}", "/maxLength: takes a whole number of at least 0" },
	{ "{'minProperties':true}", "/minProperties: takes a whole number of at least 0" },
	{ "{'maxProperties':-0.5}", "/maxProperties: takes a whole number of at least 0" },
	{ "{'minimum':'1'}", "/minimum: takes a number" },
	{ "{'maximum':null}", "/maximum: takes a number" },
	{ "{'exclusiveMinimum':true}", "/exclusiveMinimum: takes a number" },
	{ "{'exclusiveMaximum':[]}", "/exclusiveMaximum: takes a number" },
	{ "{'multipleOf':0}", "/multipleOf: takes a number above 0" },
	{ "{'multipleOf':-1}", "/multipleOf: takes a number above 0" },
	{ "{'multipleOf':'1'}", "/multipleOf: takes a number above 0" },
	{ "{'allOf':[]}", "/allOf: takes a list of at least one schema" },
	{ "{'anyOf':{}}", "/anyOf: takes a list of at least one schema" },
	{ "{'oneOf':[{},{'a':1}]}", "/oneOf/1/a: this keyword is unknown" },
	{ "{'not':[]}", "/not: a schema must be an object, true or false" },
	{ "{'$ref':1}", "/$ref: takes \"#/$defs/NAME\" only, and NAME without `/`, `~` and `%`" },
	{ "{'$ref':'#'}", "/$ref: takes \"#/$defs/NAME\" only, and NAME without `/`, `~` and `%`" },
	{ "{'$ref':'https://example.org/a.json'}", "/$ref: takes \"#/$defs/NAME\" only, and NAME without `/`, `~` and `%`" },
	{ "{'$ref':'#/properties/a'}", "/$ref: takes \"#/$defs/NAME\" only, and NAME without `/`, `~` and `%`" },
	{ "{'$ref':'#/definitions/a'}", "/$ref: takes \"#/$defs/NAME\" only, and NAME without `/`, `~` and `%`" },
	{ "{'$defs':{'a/b':{}},'$ref':'#/$defs/a/b'}", "/$ref: takes \"#/$defs/NAME\" only, and NAME without `/`, `~` and `%`" },
	{ "{'$defs':{'a%b':{}},'$ref':'#/$defs/a%b'}", "/$ref: takes \"#/$defs/NAME\" only, and NAME without `/`, `~` and `%`" },
	{ "{'$ref':'#/$defs/a'}", "/$ref: there is no such definition in `$defs` at the root" },
	{ "{'$defs':{'a':{}},'$ref':'#/$defs/A'}", "/$ref: there is no such definition in `$defs` at the root" },
	{ "{'$defs':[]}", "/$defs: takes an object of schemas" },
	{ "{'$defs':{'a':1}}", "/$defs/a: a schema must be an object, true or false" },
	{ "{'$defs':{'a':{'type':'x'}}}", "/$defs/a/type: takes null, boolean, integer, number, string, array, object, or a list of them" },
	{ "{'items':{'$defs':{'a':{}}}}", "/items/$defs: only the schema at the root may have definitions" },
	{ "{'$schema':'http://json-schema.org/draft-04/schema#'}",
	  "/$schema: takes https://json-schema.org/draft/2020-12/schema (or draft-07's)" },
	{ "{'items':{'$schema':'https://json-schema.org/draft/2020-12/schema'}}",
	  "/items/$schema: only the schema at the root may name its dialect" },
	{ "{'title':1}", "/title: takes a string" },
	{ "{'description':null}", "/description: takes a string" },
	{ "{'$comment':[]}", "/$comment: takes a string" },
	{ "{'format':true}", "/format: takes a string" },
	{ "{'examples':1}", "/examples: takes a list" },
	{ "{'deprecated':'no'}", "/deprecated: takes true or false" },
	{ "{'readOnly':0}", "/readOnly: takes true or false" },
	{ "{'writeOnly':null}", "/writeOnly: takes true or false" },
	/* what leads to itself on one value */
	{ "{'$defs':{'a':{'$ref':'#/$defs/a'}}}", "/$defs/a: this schema refers to itself by $ref, for the same value" },
	{ "{'$defs':{'a':{'$ref':'#/$defs/b'},'b':{'anyOf':[true,{'not':{'$ref':'#/$defs/a'}}]}},'items':{'$ref':'#/$defs/b'}}",
	  "/$defs/b/anyOf/1/not: this schema refers to itself by $ref, for the same value" },
	/* a pointer never drives a terminal, and ends */
	{ "{'\\u001b[2J\\u009b':1}", "/?[2J??: this keyword is unknown" },
};

Test(json_schema, refused_when_declared)
{
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		char why[AJ_SCHEMA_WHY_BYTES] = "";
		const struct aj_schema *schema = aj_schema_compile(&arena, json(refused[i].schema), why, sizeof why);
		cr_expect(!schema, "%s: accepted", refused[i].schema);
		cr_expect_str_eq(why, refused[i].why, "%s: %s", refused[i].schema, why);
	}
}

/* clang-format on */

/* Whatever the argument: true, an object and a list would pass for most of them. */
Test(json_schema, known_but_not_supported)
{
	size_t count = 0;
	for (const struct aj_refused_keyword *r = aj_refused_keywords; r->name; r++, count++) {
		char text[200], why[AJ_SCHEMA_WHY_BYTES] = "", want[AJ_SCHEMA_WHY_BYTES];
		snprintf(text, sizeof text, "{'type':'object','properties':{'a':{'%s':true}}}", r->name);
		snprintf(want, sizeof want, "/properties/a/%s: this keyword is not supported: %s", r->name, r->instead);
		cr_expect(!aj_schema_compile(&arena, json(text), why, sizeof why), "%s", r->name);
		cr_expect_str_eq(why, want, "%s", why);
		for (const struct aj_keyword *k = aj_keywords; k->name; k++)
			cr_expect_str_neq(k->name, r->name);
	}
	cr_expect_gt(count, 20);
}

/* Each keyword looks at its own types only: a value of any other type fits a schema that it alone makes. */
Test(json_schema, other_types_are_not_looked_at)
{
	static const char *const of_type[][2] = { { "null", "null" },     { "boolean", "true" }, { "integer", "-3" },
		                                  { "number", "-3.5" },   { "string", "''" },    { "array", "[7,7]" },
		                                  { "object", "{'z':1}" } };
	static const char *const schemas[] = { "{'required':['q']}",
		                               "{'minProperties':9}",
		                               "{'maxProperties':0}",
		                               "{'properties':{'z':false}}",
		                               "{'additionalProperties':false}",
		                               "{'minItems':9}",
		                               "{'maxItems':0}",
		                               "{'prefixItems':[false]}",
		                               "{'items':false}",
		                               "{'uniqueItems':true}",
		                               "{'minLength':9}",
		                               "{'minimum':9}",
		                               "{'maximum':-9}",
		                               "{'exclusiveMinimum':9}",
		                               "{'exclusiveMaximum':-9}",
		                               "{'multipleOf':0.8}" };
	for (size_t s = 0; s < sizeof schemas / sizeof *schemas; s++) {
		const struct aj_schema *schema = compiled(schemas[s]);
		size_t looked_at = 0;
		for (size_t v = 0; v < sizeof of_type / sizeof *of_type; v++) {
			char why[AJ_SCHEMA_WHY_BYTES] = "";
			bool applies = schema->rules[0].keyword->applies & aj_type_of(json(of_type[v][1]));
			cr_expect_eq(aj_schema_check(schema, json(of_type[v][1]), why, sizeof why), !applies, "%s: %s: %s",
			             schemas[s], of_type[v][1], why);
			looked_at += applies;
		}
		cr_expect_geq(looked_at, 1, "%s", schemas[s]);
	}
}

/* A pointer is at most 200 bytes, never ends within a character, and says that it was cut. */
Test(json_schema, long_pointers)
{
	for (int bytes = 180; bytes < 210; bytes++) {
		char text[300], why[AJ_SCHEMA_WHY_BYTES] = "", want[AJ_SCHEMA_WHY_BYTES], key[256] = "";
		for (int i = 0; i < bytes; i++)
			key[i] = 'k';
		strcpy(key + bytes, "\xc3\xa4");
		snprintf(text, sizeof text, "{'%s':1}", key);
		cr_expect(!aj_schema_compile(&arena, json(text), why, sizeof why));
		bool fits = bytes + 3 <= 200;
		snprintf(want, sizeof want, "/%.*s%s%s: this keyword is unknown", bytes < 199 ? bytes : 199, key,
		         fits ? "\xc3\xa4" : "", fits ? "" : "...");
		cr_expect_str_eq(why, want, "%s", why);
	}
}

/* OPEN N times, MIDDLE, CLOSE N times. */
static json_t *nested(size_t n, const char *open, const char *middle, const char *close)
{
	size_t bytes = n * (strlen(open) + strlen(close)) + strlen(middle) + 1;
	char *text = calloc(1, bytes), *at = text;
	for (size_t i = 0; i < n; i++)
		at = stpcpy(at, open);
	at = stpcpy(at, middle);
	for (size_t i = 0; i < n; i++)
		at = stpcpy(at, close);
	json_t *value = json(text);
	free(text);
	return value;
}

static void expect_refused(const json_t *schema, const char *want)
{
	char why[AJ_SCHEMA_WHY_BYTES] = "";
	cr_expect(!aj_schema_compile(&arena, schema, why, sizeof why), "accepted: %s", want);
	cr_expect_str_eq(why, want, "%s", why);
}

static void expect_accepted(const json_t *schema)
{
	char why[AJ_SCHEMA_WHY_BYTES] = "";
	cr_expect(aj_schema_compile(&arena, schema, why, sizeof why), "%s", why);
}

Test(json_schema, caps_of_a_schema)
{
	expect_accepted(nested(AJ_SCHEMA_MAX_DEPTH - 1, "{'items':", "{}", "}"));
	expect_refused(nested(AJ_SCHEMA_MAX_DEPTH, "{'items':", "{}", "}"), "a schema is at most 64 levels deep");
	expect_refused(nested(1500, "[", "", "]"), "a schema is at most 64 levels deep");

	json_t *list = json_array();
	for (size_t i = 0; i < AJ_SCHEMA_MAX_VALUES - 2; i++)
		json_array_append_new(list, json_integer(1));
	json_t *schema = keep(json_pack("{s:o}", "enum", list));
	expect_accepted(schema);
	json_array_append_new(list, json_integer(1));
	expect_refused(schema, "a schema has at most 8192 values");

	char *text = malloc(AJ_SCHEMA_MAX_BYTES + 1);
	memset(text, 'x', AJ_SCHEMA_MAX_BYTES);
	size_t most = AJ_SCHEMA_MAX_BYTES - strlen("{\"title\":\"\"}");
	expect_accepted(keep(json_pack("{s:s%}", "title", text, most)));
	expect_refused(keep(json_pack("{s:s%}", "title", text, most + 1)), "a schema has at most 65536 bytes");
	free(text);

	json_t *defs = json_object();
	for (int i = 0; i < AJ_SCHEMA_MAX_DEFS; i++) {
		char name[16];
		snprintf(name, sizeof name, "d%d", i);
		json_object_set_new(defs, name, json_true());
	}
	schema = keep(json_pack("{s:o}", "$defs", defs));
	expect_accepted(schema);
	json_object_set_new(defs, "one more", json_true());
	expect_refused(schema, "a schema has at most 256 definitions");
}

/* d0 is d1 is d2 ...: each is a schema that looks at the value of the one before. */
static json_t *chain(int length)
{
	json_t *defs = json_object();
	for (int i = 0; i < length; i++) {
		char name[16], next[32];
		snprintf(name, sizeof name, "d%d", i);
		snprintf(next, sizeof next, "#/$defs/d%d", i + 1);
		json_object_set_new(defs, name, i + 1 < length ? json_pack("{s:s}", "$ref", next) : json_pack("{s:s}", "type", "string"));
	}
	return keep(json_pack("{s:o}", "$defs", defs));
}

Test(json_schema, chains_end)
{
	char why[AJ_SCHEMA_WHY_BYTES] = "";
	expect_accepted(chain(AJ_SCHEMA_MAX_CHAIN));
	cr_expect(!aj_schema_compile(&arena, chain(AJ_SCHEMA_MAX_CHAIN + 1), why, sizeof why));
	cr_expect(strstr(why, "more than 32 schemas"), "%s", why);
	/* going into the value starts a new one */
	expect_accepted(nested(20, "{'allOf':[{'items':", "{}", "}]}"));
}

/* One name, two readings: a document that has a key twice must not get here. */
Test(json_schema, duplicate_keys_are_for_the_parser)
{
	const char *text = "{\"type\":\"string\",\"type\":\"integer\"}";
	cr_expect(!json_loads(text, JSON_REJECT_DUPLICATES, NULL));
	json_t *last = keep(json_loads(text, 0, NULL));
	char why[AJ_SCHEMA_WHY_BYTES] = "";
	const struct aj_schema *schema = aj_schema_compile(&arena, last, why, sizeof why);
	cr_assert(schema);
	cr_expect(aj_schema_check(schema, json("1"), why, sizeof why), "what jansson kept is what is checked");
}

static void too_much(const struct aj_schema *schema, const json_t *value)
{
	char why[AJ_SCHEMA_WHY_BYTES] = "";
	cr_expect(!aj_schema_check(schema, value, why, sizeof why));
	cr_expect_str_eq(why, "the value is too large or nested too deep to be checked", "%s", why);
}

Test(json_schema, a_check_has_a_budget)
{
	/* 2^n paths */
	static const char both[] = "{'$defs':{'a':{'type':'array','%s':[{'items':{'$ref':'#/$defs/a'}},{'items':{'$ref':'#/$defs/a'}}]}},'$ref':'#/$defs/a'}";
	char all[400], any[400], one[400], why[AJ_SCHEMA_WHY_BYTES] = "";
	json_t *deep = nested(100, "[", "", "]"), *bad = nested(100, "[", "'x'", "]");
	snprintf(all, sizeof all, both, "allOf");
	snprintf(any, sizeof any, both, "anyOf");
	snprintf(one, sizeof one, both, "oneOf");
	too_much(compiled(all), deep);
	cr_expect(aj_schema_check(compiled(all), nested(10, "[", "", "]"), why, sizeof why), "%s", why);
	cr_expect(aj_schema_check(compiled(any), deep, why, sizeof why), "the first alternative of anyOf is enough: %s", why);
	too_much(compiled(any), bad);
	too_much(compiled(one), deep);
	/* not finished is not `does not fit` */
	too_much(compiled("{'$defs':{'a':{'allOf':[{'items':{'$ref':'#/$defs/a'}},{'items':{'$ref':'#/$defs/a'}}]}},'not':{'$ref':'#/$defs/a'}}"),
	         deep);
	too_much(compiled("{'$defs':{'a':{'allOf':[{'items':{'$ref':'#/$defs/a'}},{'items':{'$ref':'#/$defs/a'}}]}},"
	                  "'not':{'not':{'$ref':'#/$defs/a'}}}"),
	         deep);
	too_much(compiled("{'$defs':{'a':{'allOf':[{'items':{'$ref':'#/$defs/a'}},{'items':{'$ref':'#/$defs/a'}}]}},"
	                  "'oneOf':[true,{'$ref':'#/$defs/a'}]}"),
	         deep);
}

Test(json_schema, a_big_value_is_no_problem)
{
	char why[AJ_SCHEMA_WHY_BYTES] = "";
	json_t *list = keep(json_array());
	for (int i = 0; i < 100000; i++)
		json_array_append_new(list, json_integer(i));
	cr_expect(aj_schema_check(compiled("{'items':{'type':'integer','minimum':0}}"), list, why, sizeof why), "%s", why);
	cr_expect(aj_schema_check(compiled("{'uniqueItems':true}"), list, why, sizeof why), "%s", why);
	too_much(compiled("{'items':{'type':'integer','minimum':0,'maximum':1e9,'exclusiveMinimum':-1,'exclusiveMaximum':1e9,"
	                  "'multipleOf':1,'allOf':[true],'anyOf':[{'minimum':0,'maximum':1e9}]}}"),
	         list);
	json_array_append_new(list, json_real(99998.0));
	cr_expect(!aj_schema_check(compiled("{'uniqueItems':true}"), list, why, sizeof why));
	cr_expect_str_eq(why, "items 99998 and 100000 are equal", "%s", why);
}

/* Long keys and texts cost what they take to be read. */
Test(json_schema, bytes_cost_too)
{
	char *name = malloc(60001), text[] = "{'items':{'required':['a']}}";
	memset(name, 'k', 60000);
	name[60000] = '\0';
	json_t *schema = json(text), *list = keep(json_array()), *many = json_object();
	json_array_append_new(json_object_get(json_object_get(schema, "items"), "required"), json_string(name));
	json_object_set_new(many, "a", json_null());
	json_object_set_new(many, name, json_null());
	for (int i = 0; i < 2000; i++)
		json_array_append(list, many);
	json_decref(many);
	free(name);
	char why[AJ_SCHEMA_WHY_BYTES] = "";
	const struct aj_schema *costly = aj_schema_compile(&arena, schema, why, sizeof why);
	cr_assert(costly, "%s", why);
	too_much(costly, list);
	while (json_array_size(list) > 10)
		json_array_remove(list, 0);
	cr_expect(aj_schema_check(costly, list, why, sizeof why), "%s", why);

	list = keep(json_array());
	json_t *far = keep(json_real(1.7e308));
	for (int i = 0; i < 20000; i++)
		json_array_append(list, far);
	cr_expect(aj_schema_check(compiled("{'items':{'multipleOf':1e300}}"), keep(json_pack("[f]", 3e300)), why, sizeof why), "%s", why);
	too_much(compiled("{'items':{'not':{'multipleOf':3e-308}}}"), list);
}

Test(json_schema, deep_values)
{
	char why[AJ_SCHEMA_WHY_BYTES] = "";
	const struct aj_schema *tree = compiled("{'$defs':{'t':{'items':{'$ref':'#/$defs/t'}}},'$ref':'#/$defs/t'}");
	cr_expect(aj_schema_check(tree, nested(250, "[", "", "]"), why, sizeof why), "%s", why);
	too_much(tree, nested(300, "[", "", "]"));
	cr_expect(aj_schema_check(compiled("{}"), nested(1500, "[", "", "]"), why, sizeof why), "nobody looks inside");
	/* two deep values, equal until a budget ends */
	json_t *schema = keep(json_pack("{s:o}", "uniqueItems", json_true()));
	const struct aj_schema *unique = aj_schema_compile(&arena, schema, why, sizeof why);
	json_t *two = keep(json_array());
	json_array_append(two, nested(1500, "[", "", "]"));
	json_array_append(two, nested(1500, "[", "", "]"));
	too_much(unique, two);
	/* a pointer as deep as can be is cut, and the message is still there */
	json_t *ends_in_text = nested(120, "[", "'x'", "]");
	cr_expect(!aj_schema_check(compiled("{'$defs':{'t':{'type':'array','items':{'$ref':'#/$defs/t'}}},'$ref':'#/$defs/t'}"),
	                           ends_in_text, why, sizeof why));
	cr_expect(strstr(why, "/0/0...: expected array, got string"), "%s", why);
}

/* Whatever room there is for a reason, it ends in it, and is UTF-8. */
Test(json_schema, reasons_end)
{
	const struct aj_schema *schema = compiled("{'additionalProperties':{'enum':['\xe2\x82\xac\xe2\x82\xac']}}");
	json_t *value = json("{'\xe2\x82\xac\xe2\x82\xac':1}");
	for (size_t room = 1; room < 60; room++) {
		char why[64];
		memset(why, 'x', sizeof why);
		cr_expect(!aj_schema_check(schema, value, why, room));
		cr_expect(memchr(why, 0, room), "%zu", room);
		cr_expect_eq(aj_utf8_valid_prefix(why, strlen(why)), strlen(why), "%zu: %s", room, why);
		cr_expect_eq(why[room], 'x');
	}
}

/* A check sees the string that is passed on, and not what a C string would be of it. */
Test(json_schema, nul_is_a_character)
{
	static const struct {
		const char *schema, *why;
	} rows[] = {
		{ "{'type':'string','minLength':3,'maxLength':3}", NULL },
		{ "{'enum':['a','b']}", "expected one of \"a\", \"b\"" },
		{ "{'const':'a'}", "expected \"a\"" },
		{ "{'maxLength':2}", "expected at most 2 code points, got 3" },
	};
	char why[AJ_SCHEMA_WHY_BYTES];
	const json_t *value = keep(json_stringn("a\0b", 3));
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		bool fits = aj_schema_check(compiled(rows[i].schema), value, why, sizeof why);
		cr_expect_eq(fits, !rows[i].why, "%s", rows[i].schema);
		if (rows[i].why)
			cr_expect_str_eq(why, rows[i].why);
	}
	json_t *list = keep(json_pack("[s%, s%, s]", "a\0b", (size_t)3, "a\0c", (size_t)3, "a"));
	cr_expect(aj_schema_check(compiled("{'uniqueItems':true}"), list, why, sizeof why), "%s", why);
	json_array_append_new(list, json_stringn("a\0c", 3));
	cr_expect_not(aj_schema_check(compiled("{'uniqueItems':true}"), list, why, sizeof why));
}
