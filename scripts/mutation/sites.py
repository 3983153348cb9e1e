"""From the text of a kernel file to its mutants.

Just enough of C++ is read to know statements from declarations, and where an expression begins and ends. That is
possible because the kernels keep to a few forms: a template's `<` follows its name without a space, an operator stands
between spaces.

A mutant is a text in place of a span of the file. Spans are nested: `weave` writes a file with all of its mutants, each
behind a switch, so that a module is compiled once for all of them.
"""

import re
from dataclasses import dataclass, field

TOKEN = re.compile(
    r"[A-Za-z_]\w*|0x[0-9a-fA-F]+\w*|\d+\w*|<<=|>>=|<=|>=|==|!=|&&|\|\||\+\+|--|\+=|-=|\*=|/=|%=|&=|\|=|\^=|->|::|<<|>>|\.\.\.|\S"
)
OPEN, CLOSE = {"(": ")", "[": "]", "{": "}"}, {")", "]", "}"}
ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}
BOUNDARIES = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
NUMERIC = {"==", "!=", "<", "<=", ">", ">=", "<<", ">>", "&", "*", "/", "%", "+", "-"}
PURE = {"is_aligned", "shifts", "reaches_before", "reaches_beyond", "valid", "rest", "offset_of", "tiles", "sizeof"}
# `*` with no operand before it, and what is divided by but is no constant.
READ = re.compile(r"(?:^|[^\w\s)\]]|\breturn)\s*\*\s*[\w(]")
DIVISION = re.compile(r"[/%](?!\s*(?:\d|[A-Z][A-Z_]*\b))")
WEAKER = {"load_acquire": "load_relaxed", "store_release": "store_relaxed", "add_acquire_release": "atomicAdd"}


@dataclass
class Mutant:
    """`text` in place of [start, end), which is the whole of a node."""

    start: int
    end: int
    text: str
    function: str
    is_statement: bool
    line: int = 0
    before: str = ""
    after: str = ""
    key: tuple = ()
    number: int = 0
    is_pure: bool = False


@dataclass
class Node:
    """An expression or a statement, with the mutants that take its place."""

    start: int
    end: int
    is_statement: bool
    mutants: list = field(default_factory=list)
    children: list = field(default_factory=list)


def blank(text):
    """Comments, strings and the preprocessor's lines, replaced by spaces."""

    def spaces(match):
        return re.sub(r"[^\n]", " ", match.group())

    def string(match):
        return '"' + re.sub(r"[^\n]", "s", match.group()[1:-1]) + '"'

    text = re.sub(r"//[^\n]*|/\*.*?\*/", spaces, text, flags=re.S)
    text = re.sub(r'"(?:[^"\\\n]|\\.)*"', lambda m: m.group() if len(m.group()) < 2 else string(m), text)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", spaces, text, flags=re.M)


def is_pure(text):
    """Whether it does no harm to compute an expression once more: it reads no memory that others share, and calls nothing."""
    # Both are evaluated, whatever guards them: a shift by too much, a null pointer's item or a division by 0 would end the run.
    plain = re.sub(r"//[^\n]*|/\*.*?\*/|\((?:int|[A-Z]|[iu]\d+)\)", "", text, flags=re.S)
    if "<<" in plain or ">>" in plain or READ.search(plain) or DIVISION.search(plain):
        return False
    calls = re.findall(r"(\w+)\s*\(", re.sub(r"\((?:int|u32|u64)\)", "", text))
    return not re.search(r"\[|\+\+|--|[^=!<>]=[^=]|\bfalse\b|\btrue\b|->|notes|shared|\{", text) and all(call in PURE for call in calls)


class File:
    def __init__(self, name, text):
        self.name, self.text = name, text
        plain = blank(text)
        self.tokens = [(m.group(), m.start(), m.end()) for m in TOKEN.finditer(plain)]
        self.match_brackets()
        self.nodes, self.mutants, self.function = [], [], ""
        self.top(0, len(self.tokens), [])
        lines = text.split("\n")
        seen = {}
        for mutant in self.mutants:
            self.describe(mutant, lines)
        self.mutants.sort(key=lambda mutant: (mutant.start, mutant.end, mutant.text))
        for mutant in self.mutants:
            key = (name, mutant.function, mutant.before, mutant.after)
            seen[key] = seen.get(key, 0) + 1
            mutant.key = key + (seen[key],)

    # ---- brackets ----

    def match_brackets(self):
        """Finds partners of brackets, and of the `<` of templates; splits `>>` where two of those end."""
        self.partner, stack, tokens, i = {}, [], self.tokens, 0
        while i < len(tokens):
            word, start, end = tokens[i]
            if word in OPEN:
                stack.append((word, i))
            elif word in CLOSE:
                while stack and stack[-1][0] == "<":  # it was none of a template
                    stack.pop()
                _, at = stack.pop()
                self.partner[at], self.partner[i] = i, at
            elif word == "<" and i and re.match(r"\w", tokens[i - 1][0]) and (
                tokens[i - 1][2] == start or tokens[i - 1][0] == "template"
            ):
                stack.append(("<", i))
            elif word == ">>" and stack and stack[-1][0] == "<":
                tokens[i : i + 1] = [(">", start, start + 1), (">", start + 1, end)]
                continue
            elif word == ">" and stack and stack[-1][0] == "<":
                _, at = stack.pop()
                self.partner[at], self.partner[i] = i, at
            elif word == ";":
                while stack and stack[-1][0] == "<":
                    stack.pop()
            i += 1

    def word(self, i):
        return self.tokens[i][0] if 0 <= i < len(self.tokens) else ""

    def skip(self, i):
        """After this token, or after the bracket's partner."""
        opens = self.word(i) in OPEN or self.word(i) == "<"
        return self.partner[i] + 1 if opens and i in self.partner and self.partner[i] > i else i + 1

    def find(self, i, end, words):
        """The first of the words that is in no bracket."""
        while i < end and self.word(i) not in words:
            i = self.skip(i)
        return i

    # ---- namespaces and classes ----

    def top(self, i, end, scope):
        while i < end:
            start = i
            while i < end and self.word(i) not in (";", "{"):
                i = self.skip(i)
            if i >= end:
                return
            if self.word(i) == ";":
                i += 1
                continue
            close = self.partner[i]
            words = [self.word(k) for k in range(start, i)]
            head = words
            if head[:1] == ["template"]:
                head = words[self.skip(start + 1) - start :]
            head = head[2:] if head[:2] == ["extern", ""] else head
            if head[:1] == ["namespace"] or (not head or head[-1] == '"'):
                self.top(i + 1, close, scope)
            elif head[:1] and head[0] in ("struct", "class", "union"):
                name = next((w for w in head[1:] if re.match(r"[A-Za-z_]", w) and w != "alignas"), "")
                self.top(i + 1, close, scope + [name])
            elif "__device__" in head or "__global__" in head:
                parameters = next(
                    k for k in range(start, i) if self.word(k) == "(" and self.word(self.skip(k)) in ("{", "const")
                    and self.word(k - 1) not in ("__launch_bounds__",)
                )
                self.function = "::".join(scope + [self.word(parameters - 1)])
                self.statements(i + 1, close, self.nodes)
            # A variable with an initialiser, or a function of the compiler alone, is left as it is.
            i = close + 1

    # ---- statements ----

    def statements(self, i, end, nodes):
        while i < end:
            i = self.statement(i, end, nodes)

    def statement(self, i, end, nodes):
        """Reads a statement; returns where the next begins."""
        word = self.word(i)
        if word == "{":
            self.statements(i + 1, self.partner[i], nodes)
            return self.partner[i] + 1
        if word == ";":
            return i + 1
        if word == "if":
            at_compile_time = self.word(i + 1) == "constexpr"
            condition = i + (2 if at_compile_time else 1)
            close = self.partner[condition]
            if not at_compile_time:
                self.condition(condition + 1, close, nodes, ("true", "false"))
            i = self.statement(close + 1, end, nodes)
            return self.statement(i + 1, end, nodes) if self.word(i) == "else" else i
        if word == "while":
            close = self.partner[i + 1]
            self.condition(i + 2, close, nodes, ("false",))
            return self.statement(close + 1, end, nodes)
        if word == "do":
            i = self.statement(i + 1, end, nodes)
            close = self.partner[i + 1]
            self.condition(i + 2, close, nodes, ())
            return close + 2
        if word == "for":
            close = self.partner[i + 1]
            first = self.find(i + 2, close, {";"})
            second = self.find(first + 1, close, {";"})
            self.simple(i + 2, first, nodes, removable=False)
            self.condition(first + 1, second, nodes, ())
            self.expressions(second + 1, close, nodes)
            return self.statement(close + 1, end, nodes)
        stop = self.find(i, end, {";"})
        self.simple(i, stop, nodes, removable=True)
        return stop + 1

    def condition(self, i, end, nodes, others):
        if i >= end:
            return
        # `while ((tile = take()) < count)` and the like are conditions like others.
        node = self.expression(i, end, nodes)
        for other in others:
            self.mutant(node, self.tokens[i][1], self.tokens[end - 1][2], other)

    def simple(self, i, end, nodes, removable):
        """A declaration, a jump or an expression: from token i to the semicolon at `end`."""
        word = self.word(i)
        if i >= end or word in ("using", "static_assert", "constexpr", "static", "typedef", "union", "struct"):
            return
        if word in ("return", "break", "continue"):
            node = self.node(i, end + 1, nodes, True)
            if word == "return" and end > i + 1:
                self.expressions(i + 1, end, node.children)
            else:
                self.mutant(node, node.start, node.end, "", is_statement=True)
            return
        names = self.declared(i, end)
        if names is None:
            node = self.node(i, end + 1, nodes, removable) if removable else None
            if removable:
                self.mutant(node, node.start, node.end, "", is_statement=True)
            self.expressions(i, end, node.children if removable else nodes)
            return
        while names < end:
            # A name, then what it begins with.
            stop = self.find(names, end, {","})
            at = names + 1
            while at < stop and self.word(at) == "[":
                at = self.skip(at)
            if at < stop and self.word(at) == "=":
                self.expressions(at + 1, stop, nodes)
            elif at < stop and self.word(at) in ("{", "("):
                self.expressions(at + 1, self.partner[at], nodes)
            names = stop + 1
            while self.word(names) in ("*", "&"):
                names += 1

    def declared(self, i, end):
        """Where the first name of a declaration stands; None if this is none."""
        if self.word(i) == "const":
            i += 1
        if self.word(i) == "typename":
            i += 1
        if not re.match(r"[A-Za-z_]", self.word(i)):
            return None
        i += 1
        while i < end:
            if self.word(i) == "<" and i in self.partner:
                i = self.partner[i] + 1
            elif self.word(i) == "::":
                i += 3 if self.word(i + 1) == "template" else 2
            elif self.word(i - 1) in ("unsigned", "signed") and self.word(i) in ("char", "int", "short"):
                i += 1
            else:
                break
        while self.word(i) in ("*", "&", "const"):
            i += 1
        is_name = re.match(r"[A-Za-z_]", self.word(i))
        return i if is_name and (i + 1 >= end or self.word(i + 1) in ("=", ",", "{", "[", "(", ";")) else None

    # ---- expressions ----

    def node(self, i, end, nodes, is_statement):
        node = Node(self.tokens[i][1], self.tokens[end - 1][2], is_statement)
        nodes.append(node)
        return node

    def expressions(self, i, end, nodes):
        """Splits at commas and assignments."""
        while i < end:
            stop = self.find(i, end, ASSIGNMENTS | {","})
            if stop > i:
                self.expression(i, stop, nodes)
            i = stop + 1

    def expression(self, i, end, nodes):
        node = self.node(i, end, nodes, False)
        flat = []  # the tokens that are in no bracket
        k = i
        while k < end:
            word = self.word(k)
            if word in ("sizeof", "alignof"):
                k = self.skip(k + 1)
                flat.append(k - 1)
                continue
            flat.append(k)
            after = self.skip(k)
            if after > k + 1 and word != "<":
                self.bracket(k, after - 1, node.children, i)
            k = after
        self.operators(node, flat, i, end)
        self.calls(node, flat, end)
        self.literals(node, flat)
        return node

    def bracket(self, start, close, nodes, first):
        before = self.word(start - 1)
        if self.word(start) == "{" and before == ")":
            self.statements(start + 1, close, nodes)  # of a lambda
        elif self.word(start) == "[" and start == first:
            return  # what a lambda captures
        elif self.word(start) == "(" and start > 0 and before == "]" and self.word(close + 1) == "{":
            return  # a lambda's parameters
        elif self.word(start) == "(" and close == start + 2 and re.match(r"[A-Za-z_]", self.word(start + 1)) and (
            self.word(close + 1) == "(" or re.match(r"[\w~]", self.word(close + 1))
        ):
            return  # a cast
        else:
            self.expressions(start + 1, close, nodes)

    def operators(self, node, flat, i, end):
        span = lambda a, b: self.text[self.tokens[a][1] : self.tokens[b - 1][2]]
        for place, k in enumerate(flat):
            word, start, stop = self.tokens[k]
            spaced = self.text[start - 1] == " " and self.text[stop : stop + 1] in (" ", "\n")
            if word in BOUNDARIES and k not in self.partner and spaced:
                self.mutant(node, start, stop, BOUNDARIES[word])
            elif word in ("&&", "||"):
                self.mutant(node, start, stop, "||" if word == "&&" else "&&")
                # Its operands: up to what binds less.
                weaker = {"?", ":", "||"} | ({"&&"} if word == "&&" else set())
                left = place
                while left > 0 and self.word(flat[left - 1]) not in weaker:
                    left -= 1
                right = place + 1
                while right < len(flat) and self.word(flat[right]) not in weaker:
                    right += 1
                after = flat[right] if right < len(flat) else end
                self.mutant(node, self.tokens[flat[left]][1], self.tokens[flat[place + 1]][1], "")
                if right < len(flat) and self.word(flat[right]) == word:
                    continue  # the next operator drops this operand
                self.mutant(node, self.tokens[flat[place] - 1][2], self.tokens[after - 1][2], "")
            elif word == "?":
                colons, depth, at = None, 0, place + 1
                while at < len(flat):
                    depth += {"?": 1, ":": -1}.get(self.word(flat[at]), 0)
                    if depth < 0:
                        colons = at
                        break
                    at += 1
                if colons is None:
                    continue
                first, second = span(k + 1, flat[colons]), span(flat[colons] + 1, end)
                # Of a chain of choices, the whole tail takes part.
                left = place
                while left > 0 and self.word(flat[left - 1]) not in ("?", ":"):
                    left -= 1
                begin = self.tokens[flat[left]][1]
                if any(self.word(flat[at]) == "?" for at in range(0, place)) and self.word(flat[left - 1]) == "?":
                    continue
                self.mutant(node, begin, self.tokens[end - 1][2], first)
                self.mutant(node, begin, self.tokens[end - 1][2], second)
            elif word == "!":
                self.mutant(node, start, stop, "")

    def arguments(self, k):
        """The arguments of the call whose bracket is token k, as texts."""
        close, result, i = self.partner[k], [], k + 1
        while i < close:
            stop = self.find(i, close, {","})
            result.append(self.text[self.tokens[i][1] : self.tokens[stop - 1][2]])
            i = stop + 1
        return result

    def calls(self, node, flat, end):
        for k in flat:
            word, start, _ = self.tokens[k]
            if word in WEAKER:
                self.mutant(node, start, start + len(word), WEAKER[word])
            if self.word(k + 1) != "(" or not re.match(r"[A-Za-z_]", word):
                continue
            arguments, close = self.arguments(k + 1), self.tokens[self.partner[k + 1]][2]
            begin = self.tokens[k + 1][1]
            call = lambda *texts: "(" + ", ".join(texts) + ")"
            if word in ("combine", "combine_neighbours") and len(arguments) >= 2:
                a, b, *rest = arguments
                self.mutant(node, begin, close, call(b, a, *rest))
            elif word == "choose":
                condition, a, b = arguments
                self.mutant(node, begin, close, call("true", a, b))
                self.mutant(node, begin, close, call("false", a, b))
            elif word == "shuffle":
                value, lane = arguments
                self.mutant(node, begin, close, call(value, f"({lane}) + 1 & 31"))
                self.mutant(node, begin, close, call(value, f"({lane}) + 31 & 31"))
            # Methods of that name take the lanes' distance alone.
            elif word == "shuffle_xor" and len(arguments) == 2:
                value, mask = arguments
                self.mutant(node, begin, close, call(value, f"({mask}) ^ 1"))
            elif word in ("mbarrier_init", "mbarrier_expect"):
                barrier, count = arguments
                step = "1" if word == "mbarrier_init" else "16"
                for sign in "+-":
                    if count != "1":
                        self.mutant(node, begin, close, call(barrier, f"{count} {sign} {step}"))

    def literals(self, node, flat):
        for k in flat:
            word, start, stop = self.tokens[k]
            before, after = self.word(k - 1), self.word(k + 1)
            if word in ("true", "false"):
                self.mutant(node, start, stop, "false" if word == "true" else "true")
            elif word == "1" and before in ("+", "-") and k > 1:
                self.mutant(node, self.tokens[k - 2][2], stop, "")
            elif word == "1" and before == "^":
                self.mutant(node, start, stop, "0")
            elif word in ("0", "1") and not (NUMERIC & {before, after}):
                self.mutant(node, start, stop, "1" if word == "0" else "0")

    # ---- mutants ----

    def mutant(self, node, start, end, text, is_statement=False):
        whole = self.text[node.start : start] + text + self.text[end : node.end]
        if whole == self.text[node.start : node.end]:
            return
        result = Mutant(node.start, node.end, whole, self.function, is_statement)
        result.edit = (start, end, text)
        result.is_pure = not is_statement and is_pure(self.text[node.start : node.end] + " " + text)
        if any(other.text == whole for other in node.mutants):
            return
        node.mutants.append(result)
        self.mutants.append(result)

    def describe(self, mutant, lines):
        start, end, text = mutant.edit
        mutant.line = self.text.count("\n", 0, start) + 1
        mutant.last_line = self.text.count("\n", 0, max(end - 1, start)) + 1
        begin = self.text.rfind("\n", 0, start) + 1
        stop = self.text.find("\n", max(end - 1, start))
        normal = lambda text: " ".join(text.split())
        mutant.before = normal(self.text[begin:stop])
        mutant.after = normal(self.text[begin:start] + text + self.text[end:stop])

    # ---- the file with its mutants ----

    def weave(self, chosen, compared):
        """The file's text, with those mutants in it whose numbers are `chosen`, and as many lines as before.

        Of `compared` ones it is seen whether they ever have another value."""
        flat = lambda text: " ".join(re.sub(r"//[^\n]*", "", text).split())

        def text_of(start, end, nodes):
            result, at = [], start
            for node in sorted(nodes, key=lambda node: node.start):
                result.append(self.text[at : node.start])
                result.append(woven(node))
                at = node.end
            return "".join(result) + self.text[at:end]

        def woven(node):
            body = text_of(node.start, node.end, node.children)
            mutants = [mutant for mutant in node.mutants if mutant.number in chosen]
            original = flat(self.text[node.start : node.end])
            if not mutants:
                return body
            if node.is_statement:
                condition = " || ".join(f"MUTANT({mutant.number})" for mutant in mutants)
                return "{ if (!(" + condition + ")) " + body + " }"
            for mutant in mutants:
                switch = f"MUTANT({mutant.number})"
                if mutant.number in compared:
                    switch = f"DIFFERS({mutant.number}, ({flat(mutant.text)}), ({original}))"
                body = f"({switch} ? ({flat(mutant.text)}) : ({body}))"
            return body

        return text_of(0, len(self.text), self.nodes)

    def mutated(self, mutant):
        """The file's text with one mutant in place, and as many lines as before."""
        start, end, text = mutant.edit
        return self.text[:start] + text + "\n" * (self.text.count("\n", start, end) - text.count("\n")) + self.text[end:]
