"""What in a person's words reads like a standing rule or names a task. Pure, and generous: a false find costs a line.

Two kinds of words: those that speak of all times to come (always, from now on, "Rule 3"), and those that forbid or ask
(don't, must, only, please). When there is no room for both, the strong ones stay. A rule may have neither: "British
spelling everywhere." What is short, asks nothing and begins like no statement may be one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal

LINE_CHARS = 400
"""A line up to this long is kept whole: its sentences belong together, and "e.g." ends none."""
LONGEST_CHARS = 2_000
"""A longer sentence is no rule but something pasted."""

STRONG, GENERAL, PLAIN, WEAK = 4, 3, 2, 1
"""GENERAL is a weak one without a number: what is asked of one thing mostly names it, and a rule does not. PLAIN is a
short sentence by its form alone: an order, or a thing named. It may as well ask for something once."""
PLAIN_CHARS = 120
PLAIN_WORDS = 2, 16
PASTED_CHARS = 800
"""The short lines of a longer message are those of a table or of a program, and no orders."""
PLAIN_SIGNS = 4
"""The least signs where words have no spaces between them: a greeting has two or three."""

_STRONG_WORDS = (
    # English
    r"always|never|from (?:now|here|today|this point) on(?:wards?)?",
    r"going forward|henceforth|at all times|no matter what",
    r"under no circumstances?|every time|each time|whenever|without exceptions?|rules?|remember|keep in mind|for good",
    r"until (?:further notice|I (?:say|tell))|in (?:the )?future",
    r"as of now|for the rest of|no longer|any ?more|by default",
    r"(?:call|address) me|(?:answer|reply|respond|speak|talk)(?: to)?(?: me| us)?(?: back)?(?: only)? (?:in|with)|ever",
    r"anywhere|sign (?:off )?(?:as|with)",
    r"standing (?:instructions?|orders?)|polic(?:y|ies)|constraints?|requirements?|revoke[sd]?|no exceptions?",
    # Portuguese, Spanish, Italian
    r"sempre|nunca|jamais|a partir de agora|(?:de agora|daqui|de hoje) em diante|daqui (?:para|pra)|doravante|regras?",
    r"lembre(?:-se)?|lembra(?:-te)?|toda vez|todas as vezes|em hipótese alguma|não \S+ mais|já não",
    r"siempre|jamás|a partir de ahora|(?:de ahora|de aquí|de hoy) en adelante|en adelante|reglas?|recuerda|recuerde",
    r"cada vez|bajo ninguna circunstancia|ya no|en ningún caso",
    r"mai|d['’]ora in (?:poi|avanti)|da ora in (?:poi|avanti)",
    r"regol[ae]|ricorda(?:ti)?|ogni volta|in nessun caso|non \S+ più",
    # French
    r"toujours|jamais|désormais|dorénavant|à partir de maintenant|à l['’]avenir|règles?|souviens|rappelle|chaque fois",
    r"en aucun cas|ne \S+ plus|n['’]\S+ plus",
    # German, Dutch, Swedish, Danish, Norwegian
    r"immer|nie|niemals|ab (?:jetzt|sofort|heute)|von (?:nun|jetzt) an|künftig|in zukunft|regeln?|merk(?:e)? dir",
    r"denk(?:e)? daran|jedes ?mal|unter keinen umständen",
    r"auf keinen fall|nicht mehr|kein\w* \S+ mehr|stets|grundsätzlich",
    r"altijd|nooit|vanaf nu|voortaan|regels?|onthoud|elke keer|niet meer",
    r"alltid|aldrig|aldri|altid|från och med nu|hädanefter|fra nu af|fra nå av|husk|kom ihåg",
    # Polish, Russian, Ukrainian, Turkish
    r"zawsze|nigdy|od teraz|odtąd|reguł[ay]|zasad[ay]|pamiętaj|za każdym razem",
    r"всегда|никогда|отныне|впредь|с этого момента|правил[оа]|запомни(?:те)?|помни(?:те)?|каждый раз|больше не",
    r"завжди|ніколи|відтепер|надалі|пам['’]ятай|щоразу|більше не",
    r"her zaman|daima|asla|hiçbir zaman|bundan (?:sonra|böyle)|kurallar?|kural|unutma",
    # Arabic, Hindi
    r"دائما|دائمًا|أبدا|أبدًا|من الآن فصاعدا|قاعدة|تذكر|हमेशा|कभी|अब से|नियम|याद रख\w*",
)
_WEAK_WORDS = (
    r"don['’]?ts?|do not|must(?:n['’]t)?|only|should(?:n['’]t)?",
    r"shall|please|make sure|ensure|avoid|prefer(?:red)?|stop",
    r"instead|use|keep|may not|cannot|can['’]t|need to|ha(?:s|ve) to|rather",
    r"forbidden|allowed|required|every|treat|assume|format|write|speak|sign",
    r"not|without|forget|ignore|cancel|drop",
    r"não|deve[ms]?|precisa|tem (?:de|que)|só|somente|apenas",
    r"por favor|evite|evita|prefira|usa|responda|em vez|sem|esqueça",
    r"no|debes?|deben|hay que|tienes que|s[oó]lo|solamente",
    r"únicamente|evite|prefiere|responde|en (?:vez|lugar)|sin|olvida",
    r"non|devi|soltanto|per favore|preferisci|rispondi|invece|senza|dimentica",
    r"ne|n['’]\w+|pas|dois|doit|devez|faut|seulement|uniquement|s['’]il (?:te|vous) pla[iî]t|évite[zr]?|utilise[zr]?",
    r"réponds|répondez|au lieu|sans|oublie[zr]?",
    r"nicht|kein\w*|muss(?:t)?|müssen|soll\w*|nur|ausschließlich",
    r"bitte|vermeide|bevorzuge|verwende|benutze|nutze|antworte",
    r"statt|darf\w*|ohne|vergiss",
    r"niet|geen|moet|alleen|alsjeblieft|graag|vermijd|gebruik",
    r"antwoord|zonder|inte|ikke|bara|kun|endast|använd|brug|bruk",
    r"nie|musi\w*|tylko|proszę|unikaj|używaj|odpowiadaj|zamiast|bez",
    r"не|нельзя|долж\w+|надо|нужно|только|пожалуйста|избегай|используй|отвечай|вместо|без|забудь|тільки|треба",
    r"lütfen|sadece|yalnızca|kullan\w*|yanıtla|yerine|değil",
    r"لا|يجب|فقط|من فضلك|मत|नहीं|केवल|कृपया",
)
_STRONG_SIGNS = (
    "总是|始终|永远|从不|绝不|从现在|今后|以后|规则|记住|每次|务必|總是|始終|永遠|從不|絕不|從現在|今後|以後|規則|記住|務必"
    "|常に|いつも|必ず|決して|絶対|これから|以降|ルール|覚えて|毎回|二度と|항상|언제나|절대|결코|앞으로|지금부터|이제부터|규칙|기억해|매번"
)
_WEAK_SIGNS = (
    "不要|别|不得|必须|只|请|应该|禁止|避免|使用|別|必須|請|應該|ないで|いけ|なければ|べき|だけ|のみ|ください|使って"
    "|하지 ?마|해야|세요|금지|사용"
)


_STATEMENT_WORDS = (
    # Who or what a statement speaks of, and what people say by the way: an order or a heading begins with neither.
    r"I|you|he|she|it|we|they|the|an?|th(?:is|at|ese|ose|ere)|my|your|his|her|its|our|their|here|what|why|how|who|where",
    r"which|is|are|was|do|does|did|can|could|will|would|have|has|and|but|so|or|because|yes|no|ok(?:ay)?|thanks?",
    r"thank you|hello|hi|hey|good|great|fine|sure|well|maybe|perhaps|done|nice|go on|go ahead",
    r"continue|sorry|look|wait|let['’]?s?",
    r"eu|ele|ela|nós|eles|elas|os?|as?|uma?|isto|isso|está|estou|é|são|há|sim|obrigad[oa]|olá|oi|bom|boa|e|mas|que|como",
    r"yo|él|ella|nosotros|ellos|el|los|las?|un|una|esto|eso|es|hay|sí|gracias|hola|bueno|buenas?|y|pero|qué|cómo",
    r"io|lui|lei|noi|loro|il|lo|gli|i|uno|questo|c['’]è|sì|grazie|ciao|buon\w*|e|ma|che|come",
    r"je|j['’]\w+|tu|il|elle|nous|vous|ils|elles|le|les|une|c['’]est|cela|ça|oui|non|merci|bonjour|salut|et|mais|que",
    r"ich|du|er|sie|es|ihr|der|die|das|ein|eine|mein|meine|ist|sind|war|ja|nein|danke|hallo|guten?|und|aber|was|wie|warum",
    r"ik|jij|je|hij|zij|ze|wij|de|het|een|dit|dat|ja|nee|dank\w*|hoi|goede?|en|maar|wat|hoe",
    r"jag|han|hon|vi|de|den|det|en|ett|ja|nej|tack|hej|och|men|vad|hur|jeg|hun|et|takk|tak|og|hvad|hva|hvordan",
    r"ja|ty|on|ona|to|jest|tak|nie|dziękuję|dzięki|cześć|i|ale|co|jak",
    r"я|ты|он|она|оно|мы|вы|они|это|да|нет|спасибо|привет|и|но|а|что|как|ben|sen|bu|şu|evet|hayır|teşekkür\w*|merhaba|ve|ama",
    r"أنا|هو|هي|هذا|نعم|شكرا|مرحبا|मैं|वह|यह|हाँ|धन्यवाद|नमस्ते",
)
_STATEMENT_SIGNS = (
    "我|你|您|他|她|它|这|那|這|是的|好的|谢谢|謝謝|私|僕|これ|それ|はい|ありがとう|저는|나는|이것|네|감사|안녕"
)
_QUESTION_SIGNS = ("?", "？", "؟", "吗", "吗。", "か", "か。")

_TASK_WORDS = (
    r"tasks?|goals?|objectives?|projects?|missions?",
    r"I (?:want|need) (?:you )?to|your job|we(?:['’]re| are) going to",
    r"tarefas?|objetivos?|projetos?|tareas?|proyectos?|compit[oi]|obiettiv[oi]|progett[oi]",
    r"tâches?|objectifs?|projets?|aufgaben?|ziele?|projekte?|taak|taken|doel|uppgift(?:en)?|opgave|zadani[ea]|cel",
    r"задач[аиу]|цел[ьи]|проекты?|завдання|görev|amaç|hedef|proje",
)
_TASK_SIGNS = "任务|任務|目标|目標|タスク|課題|목표|작업|과제"


def _words(groups: tuple[str, ...], signs: str) -> str:
    return rf"(?<!\w)(?:{'|'.join(groups)})(?!\w)|{signs}"


@cache
def _pattern(which: Literal["strong", "weak", "statement", "task", "label"]) -> re.Pattern[str]:
    """Return a pattern, compiled when it is first needed: that takes milliseconds, and a start has none to give."""
    match which:
        case "strong":
            return re.compile(_words(_STRONG_WORDS, _STRONG_SIGNS), re.IGNORECASE)
        case "weak":
            return re.compile(_words(_WEAK_WORDS, _WEAK_SIGNS), re.IGNORECASE)
        case "statement":
            return re.compile(rf"\W*(?:(?:{'|'.join(_STATEMENT_WORDS)})(?!\w)|{_STATEMENT_SIGNS})", re.IGNORECASE)
        case "task":
            return re.compile(_words(_TASK_WORDS, _TASK_SIGNS), re.IGNORECASE)
        case "label":
            task = _words(_TASK_WORDS, _TASK_SIGNS)
            label = rf"^\W*(?:\w+\W+){{0,3}}?\w{{0,8}}?(?:{task})\W{{0,4}}[:：]"
            return re.compile(label, re.IGNORECASE | re.MULTILINE)


_SPACELESS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
_ITEM = re.compile(r"\s*(?:[-*•–]|\(?\d{1,3}[.)]|\(?[a-z][.)])\s+\S", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])[\"'”’)]*\s+(?=[^a-zß-öø-ÿ])|(?<=[。！？])")


@dataclass(frozen=True)
class Rule:
    """A sentence that reads like a rule, and where in the text it begins."""

    start: int
    text: str
    strength: int


def strength(sentence: str) -> int:
    """Say how much a sentence reads like a standing rule: STRONG, GENERAL, PLAIN, WEAK or 0."""
    if _pattern("strong").search(sentence):
        return STRONG
    if not _pattern("weak").search(sentence):
        return PLAIN if is_plain(sentence) and not has_number(sentence) else 0
    return WEAK if has_number(sentence) else GENERAL


def asks(text: str) -> bool:
    """Say whether a text is a question, by its end."""
    return text.rstrip().rstrip("\"'”’»)").endswith(_QUESTION_SIGNS)


def has_number(text: str) -> bool:
    """Say whether a text has a digit: what is of one thing mostly names it."""
    return any(map(str.isdigit, text))


def is_plain(sentence: str) -> bool:
    """Say whether a sentence is short, asks nothing, and begins like no statement: an order, or a thing named."""
    words, (least, most) = sentence.split(), PLAIN_WORDS
    if not words or len(sentence) > PLAIN_CHARS or len(words) > most or asks(sentence):
        return False
    if len(words) < least and not (len(words[0]) > PLAIN_SIGNS and _SPACELESS.search(words[0])):
        return False
    return not _pattern("statement").match(sentence)


def names_task(text: str) -> int:
    """Say how much a text speaks of a task as one: STRONG where it is a label ("New task: …"), WEAK, or 0."""
    if _pattern("label").search(text):
        return STRONG
    return WEAK if _pattern("task").search(text) else 0


def rules_in(text: str) -> tuple[Rule, ...]:
    """Return what in a text reads like standing rules, word for word, in its order.

    A rule that ends with a colon has the list below it with it, since the list is the rule.
    """
    found: list[Rule] = []
    heading = 0
    pasted = len(text) > PASTED_CHARS
    for start, piece in _pieces(text):
        if heading and _ITEM.match(piece):
            found.append(Rule(start, piece.strip(), max(heading, strength(piece))))
            continue
        heading = 0 if piece.strip() else heading
        strong = strength(piece)
        if strong and (strong != PLAIN or not pasted) and len(piece) <= LONGEST_CHARS:
            found.append(Rule(start, piece.strip(), strong))
            if piece.rstrip().endswith((":", "：")):
                heading = strong
    return tuple(found)


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text, long ones sentence by sentence, each with its place."""
    at = 0
    for line in text.splitlines(keepends=True):
        if len(line) <= LINE_CHARS:
            yield at, line
        else:
            begin = 0
            for end in [*(match.end() for match in _SENTENCE.finditer(line)), len(line)]:
                if line[begin:end].strip():
                    yield at + begin, line[begin:end]
                begin = end
        at += len(line)
