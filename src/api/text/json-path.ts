/** Path of a value: map keys and list indexes from the root. */
export type JsonPath = readonly (string | number)[]

/** Maximum length of a path in a message; keys come from clients and may be megabytes long. */
const shownCharactersMax = 1_000

/** `spec.containers[0].image`. */
export function formatJsonPath(path: JsonPath): string {
  let text = ''
  for (const segment of path) {
    if (typeof segment === 'number') text += `[${segment}]`
    else text += text === '' ? segment : `.${segment}`
    if (text.length > shownCharactersMax) return `${text.slice(0, shownCharactersMax)}...`
  }
  return text
}
