// Gives each cell of a table the name of its column, which site.css prints before it on a narrow screen.
for (const table of document.querySelectorAll(".md-typeset table:not([class])")) {
  const names = [...table.querySelectorAll("thead th")].map((cell) => cell.textContent.trim());
  for (const row of table.querySelectorAll("tbody tr")) {
    [...row.cells].forEach((cell, index) => {
      if (names[index]) cell.dataset.column = names[index];
    });
  }
}
