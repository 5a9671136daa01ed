"""compare.py RECORDED < answers: do the answers say what was recorded?

Both hold one line an answer: its name, a tab, the JSON document. --record writes RECORDED instead.
A member that the recorded answer does not have is new, and no difference. Sums are exact integers; what
follows from them goes through BLAS, which adds in another order on another processor: 1e-6 of a number's
size is a thousand times more than that moves, and a thousandth of what any other estimator would."""
import json
import lzma
import sys


def differences(recorded, answer, path=""):
    if isinstance(recorded, dict) and isinstance(answer, dict):
        for key, value in recorded.items():
            if key in answer:
                yield from differences(value, answer[key], f"{path}/{key}")
            else:
                yield f"{path}/{key} is gone"
    elif isinstance(recorded, list) and isinstance(answer, list) and len(recorded) == len(answer):
        for place, (one, other) in enumerate(zip(recorded, answer)):
            yield from differences(one, other, f"{path}/{place}")
    elif isinstance(recorded, float) and isinstance(answer, (int, float)):
        if abs(recorded - answer) > 1e-6 * max(abs(recorded), 1e-9):
            yield f"{path} is {answer}, recorded as {recorded}"
    elif recorded != answer:
        yield f"{path} is {answer!r}, recorded as {recorded!r}"


place = sys.argv[-1]
answers = dict(line.rstrip("\n").split("\t", 1) for line in sys.stdin)
if sys.argv[1] == "--record":
    with lzma.open(place, "wt") as out:
        out.writelines(f"{name}\t{text}\n" for name, text in sorted(answers.items()))
    sys.exit(0)
with lzma.open(place, "rt") as lines:
    recorded = dict(line.rstrip("\n").split("\t", 1) for line in lines)
print("missing" if set(recorded) - set(answers) else f"{len(recorded)} answers")
for name, text in recorded.items():
    for words in list(differences(json.loads(text), json.loads(answers.get(name, "null"))))[:3]:
        print(f"{name}: {words}")
