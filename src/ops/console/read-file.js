/** A chosen file is read into the text of its form, which is sent as if it were pasted. Without scripts there is no choice. */
for (const chosen of document.querySelectorAll('input[type="file"]')) {
  chosen.parentElement.hidden = false;
  chosen.addEventListener('change', async () => {
    const [file] = chosen.files;
    if (file === undefined) return;
    const { text, file: name } = chosen.form.elements;
    // More than the longest text that is taken (`LONGEST_TEXT`), so that a longer file is refused, and never cut unseen.
    text.value = await file.slice(0, 400_001).text();
    if (name !== undefined) name.value = file.name.slice(-120);
  });
}
