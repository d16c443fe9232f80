"""Report: figures as a table for a person. A line with a bar passes or fails: the bar is a promise of the project. A line
without a bar is only information."""
from dataclasses import dataclass, field
from statistics import median


@dataclass
class Line:
    what: str
    value: str
    detail: str = ""
    bar: str = ""
    passed: bool | None = None


@dataclass
class Section:
    title: str
    lines: list = field(default_factory=list)
    figures: dict = field(default_factory=dict)

    def show(self, what, value, detail=""):
        self.lines.append(Line(what, value, detail))

    def at_least(self, what, number, bar, detail=""):
        self.lines.append(Line(what, f"{number:.2f}", detail, f">= {bar}", number >= bar))

    def below(self, what, number, bar, unit, detail=""):
        self.lines.append(Line(what, f"{number:,.0f} {unit}" if number >= 10 else f"{number:.2f} {unit}", detail,
                               f"< {bar:,} {unit}", number < bar))

    def note(self, text):
        self.lines.append(Line("", "", text))

    def failed(self):
        return [line for line in self.lines if line.passed is False]


def print_section(section):
    print(f"\n{section.title}")
    for line in section.lines:
        result = "" if line.passed is None else ("PASS" if line.passed else "FAIL")
        bar = f"{result} ({line.bar})" if result else ""
        print(f"  {line.what:<46} {line.value:>11}  {bar:<22} {line.detail}".rstrip() if line.what else f"    {line.detail}",
              flush=True)


def spread(values, form="{:,.0f}"):
    """The median and, in brackets, the smallest and largest."""
    return f"{form.format(median(values))} [{form.format(min(values))} … {form.format(max(values))}]"


def note_noise(section, rounds):
    """Adds a note with the load of other processes, and a warning if it was too high to trust the figures."""
    foreign = median(figures["foreign_cores"] for figures in rounds)
    doubt = "; a quarter of a core or more: repeat this when the machine is quiet" if foreign >= 0.25 else ""
    section.note(f"foreign load while measuring: {foreign:.2f} cores{doubt}")
