/**
 * A chosen file is read into the text of its form, which is sent as if it were pasted. Until it is read the field is empty, and its
 * form can't be sent: the field is required. Without scripts there is no choice.
 */
for (const chosen of document.querySelectorAll('input[type="file"]')) {
  const { text, file: name } = chosen.form.elements;
  chosen.parentElement.hidden = false;
  chosen.form.addEventListener('input', () => chosen.setCustomValidity(''));
  chosen.addEventListener('change', async () => {
    const [file] = chosen.files;
    if (file === undefined) return;
    text.value = '';
    try {
      const read = await textIn(file);
      if (chosen.files[0] !== file) return; // another one was chosen meanwhile
      text.value = read;
      if (name !== undefined) name.value = file.name.slice(-120);
    } catch (error) {
      chosen.setCustomValidity(String(error));
      chosen.reportValidity();
    }
  });
}

/** More than the longest text that is taken (`LONGEST_TEXT`), so that a longer file is refused, and never cut unseen. */
const MOST_CHARACTERS = 100_001;
/** Bytes that have so many, with two for the end of a line. */
const MOST_BYTES = 400_004;

/** Of a file that is not UTF-8, the text that a spreadsheet of Western Europe wrote. */
async function textIn(file) {
  const bytes = await file.slice(0, MOST_BYTES).arrayBuffer();
  const decode = (label) =>
    // A file that is cut may end within a character.
    new TextDecoder(label, { fatal: true }).decode(bytes, { stream: file.size > MOST_BYTES });
  let text;
  try {
    text = decode('utf-8');
  } catch {
    text = decode('windows-1252');
  }
  return text.replaceAll('\r\n', '\n').slice(0, MOST_CHARACTERS);
}
