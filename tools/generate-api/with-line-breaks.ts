/**
 * Restores the line breaks of a text. The package has a space in place of each, so that two spaces were a blank
 * line, or the break before an item of a numbered list, and more the break before an indented line, with a
 * blank line before an example.
 */
export function withLineBreaks(text: string): string {
  return text.replaceAll(/(\S)( {2,})(?=(\S))/g, (_all, before: string, spaces: string, after: string) => {
    // Indentations are even.
    const isExample = before === ':' && /[a-z]/.test(after) && spaces.length % 2 === 0
    if (spaces.length > 2 && isExample) return `${before}\n\n${spaces.slice(2)}`
    if (spaces.length > 2) return `${before}\n${spaces.slice(1)}`
    return before + (/\d/.test(after) ? '\n ' : '\n\n')
  })
}
