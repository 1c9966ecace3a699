"""The examples of docs/start/client.md and two guides, in their order."""

import doctest
import os
import re
import unittest
import warnings

import agentjail

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class TestPage(unittest.TestCase):
    def test_examples(self):
        warnings.simplefilter("error")
        for name, least in (("start/client.md", 20), ("guides/frameworks.md", 5), ("guides/data-agents.md", 5)):
            page = os.path.join(TOP, "docs", name)
            failed, tried = doctest.testfile(page, module_relative=False, optionflags=doctest.IGNORE_EXCEPTION_DETAIL | doctest.REPORT_NDIFF)
            self.assertTrue(failed == 0 and tried > least, f"{name}: {failed} of {tried} examples")
        agentjail.service.close_all()

    def test_every_option_and_exception_is_named(self):
        from agentjail import _requests, errors

        with open(os.path.join(TOP, "docs", "start", "client.md")) as f:
            text = f.read()
        for name in (*_requests.JAIL_OPTIONS, *_requests.RUN_OPTIONS, *agentjail.__all__):
            self.assertTrue(re.search(rf"\b{name}\b", text), name)
        self.assertTrue(all(issubclass(e, errors.AgentjailError) for e in errors.BY_CODE.values()))
