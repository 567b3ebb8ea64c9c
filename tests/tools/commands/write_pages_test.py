#!/usr/bin/env python3
"""What `tools/write_pages.py` makes of a document: outputs follow the program, everything else stays."""
import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../tools"))
import write_pages  # noqa: E402

PAGE = """# A page

```console
$ first
old
lines
$ second
```

```sh
$ first
stays
```
"""


class WritePages(unittest.TestCase):
    def rewritten(self, page, answers):
        """The new page, and what was complained of."""
        complaints = []
        page = write_pages.rewritten(page, lambda command: answers[command], lambda *what: complaints.append(what))
        return page, complaints

    def test_an_output_becomes_what_the_program_prints_and_nothing_else_changes(self):
        page, complaints = self.rewritten(PAGE, {"first": ["new"], "second": ["is not shown"]})
        self.assertEqual(page, PAGE.replace("old\nlines\n", "new\n"))
        self.assertEqual(complaints, [])

    def test_lines_beside_dots_stay_and_are_named_where_they_are_not_printed(self):
        page = "```console\n$ first\n...\nshown\n...\n```\n"
        self.assertEqual(self.rewritten(page, {"first": ["a", "shown", "b"]}), (page, []))
        same, complaints = self.rewritten(page, {"first": ["a", "b"]})
        self.assertEqual(same, page)
        self.assertEqual([line for line, _ in complaints], [2])

    def test_a_command_that_fails_leaves_its_output_and_is_named(self):
        def fails(command):
            raise RuntimeError("exit status 2: no such option")

        complaints = []
        self.assertEqual(write_pages.rewritten(PAGE, fails, lambda *what: complaints.append(what)), PAGE)
        self.assertEqual(complaints[0], (4, "exit status 2: no such option"))
        self.assertEqual(len(complaints), 2)

    def test_what_a_command_prints_follows_the_program_that_is_named(self):
        self.assertEqual(write_pages.run("echo one; echo two", "/bin/true", "/"), ["one", "two"])
        with self.assertRaisesRegex(RuntimeError, "exit status 3: why"):
            write_pages.run("echo why >&2; exit 3", "/bin/true", "/")


if __name__ == "__main__":
    unittest.main()
