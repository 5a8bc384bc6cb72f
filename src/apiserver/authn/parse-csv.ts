/**
 * Parses comma-separated values (RFC 4180): quoted fields may contain commas, line breaks and doubled quotes.
 * Empty lines are skipped. Throws an Error that names the line but never its content.
 */
export function parseCsv(text: string): string[][] {
  const records: string[][] = []
  const form = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/y
  let record: string[] = []
  while (form.lastIndex < text.length || record.length > 0) {
    const at = form.lastIndex
    const match = form.exec(text)
    if (match === null) {
      throw new Error(`line ${text.slice(0, at).split('\n').length}: unexpected quote`)
    }
    const [, quoted, plain = '', end] = match
    record.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'))
    if (end === ',') continue
    if (record.length > 1 || record[0] !== '' || quoted !== undefined) records.push(record)
    record = []
  }
  return records
}
