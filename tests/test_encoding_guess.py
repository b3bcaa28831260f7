"""Test that the encoding of a text is guessed by the language that it reads like."""

from __future__ import annotations

import pytest

from swecli.encoding_guess import guess_encodings
from swecli.text_files import decode

COMMENTS = {
    "cp1252": ["été", "Größe", "å", "è", "L’usage", "« x »", "25 °C", "OPÇÃO", "año ¿no?", "£5", "½", "©"],
    "cp1250": ["Příliš žluťoučký kůň", "zażółć gęślą jaźń", "kávé és főzőkanál"],
    "cp1254": ["yapılandırma dosyası"],
    "cp1251": ["тест", "Чтение настроек", "файл не найден", "підключення"],
    "koi8_r": ["Чтение настроек", "файл не найден"],
    "cp1253": ["αρχείο δεν βρέθηκε", "ρυθμίσεις"],
    "cp1255": ["הקובץ לא נמצא"],
    "cp1256": ["الملف غير موجود"],
    "cp874": ["ไม่พบแฟ้ม"],
    "gb18030": ["你好", "测试", "错误", "参数错误", "读取配置文件"],
    "big5": ["設定", "檔案", "讀取設定檔"],
    "cp932": ["テスト", "表示", "日本", "設定ファイルを読む"],
    "euc_jp": ["テスト", "設定ファイルを読む", "エラー"],
    "cp949": ["설정 파일", "오류가 발생했습니다"],
}  # fmt: skip
CASES = [(encoding, text) for encoding, texts in COMMENTS.items() for text in texts]


@pytest.mark.parametrize(("encoding", "comment"), CASES)
@pytest.mark.parametrize(
    "program", ["{}\n", "// {}\nint main() {{ return 0; }}\n", "int x;\n" * 20_000 + "// {}\n"]
)
def test_a_few_letters_of_a_language_tell_the_encoding(
    encoding: str, comment: str, program: str
) -> None:
    text = program.format(comment)
    file = decode(text.encode(encoding))
    assert file is not None
    assert file.text == text


def test_letters_far_behind_in_a_long_line_tell_the_encoding() -> None:
    data = b"x" * 1_000_000 + "配置文件".encode("gbk") * 10_000
    assert guess_encodings(data)[0] == "gb18030"
