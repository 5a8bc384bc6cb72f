/** Tables in kubeadm's layout: at least ten characters and three spaces for each column but the last. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const widths: number[] = []
  for (const row of rows)
    row.forEach((cell, column) => {
      widths[column] = Math.max(widths[column] ?? 10, cell.length + 3)
    })
  const lines = rows.map(row => {
    return row
      .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column]!)))
      .join('')
  })
  return lines.map(line => `${line}\n`).join('')
}
