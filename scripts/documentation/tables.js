// Gives each cell of a table the name of its column, which site.css prints before it on a narrow screen, and lets long names
// in code wrap behind "_", "/", "." and ",".
function allowBreaks(code) {
  for (const node of [...code.childNodes]) {
    if (node.nodeType !== Node.TEXT_NODE) continue;
    const parts = node.data.split(/(?<=\w[_/.,=|])(?=[^\s_/.,=|])/);
    node.replaceWith(...parts.flatMap((part, index) => (index ? [document.createElement("wbr"), part] : [part])));
  }
}

for (const table of document.querySelectorAll(".md-typeset table:not([class])")) {
  const names = [...table.querySelectorAll("thead th")].map((cell) => cell.textContent.trim());
  for (const row of table.querySelectorAll("tbody tr")) {
    [...row.cells].forEach((cell, index) => {
      if (names[index]) cell.dataset.column = names[index];
    });
  }
  for (const code of table.querySelectorAll("td code")) allowBreaks(code);
}
