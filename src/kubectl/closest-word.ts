/** Suggestions for misspelled names: commands, resources, fields. */

/** The word with the fewest changes of letters, or one that begins with the text; undefined if none is close. */
export function closestWord(text: string, words: readonly string[]): string | undefined {
  const distanceMax = Math.max(1, Math.floor(text.length / 3))
  let closest: string | undefined
  let smallest = distanceMax + 1
  for (const word of words) {
    const distance = word.startsWith(text) && text.length > 2 ? 1 : editDistance(text, word)
    if (distance < smallest) {
      smallest = distance
      closest = word
    }
  }
  return closest
}

/** Words within two changes of the text, and words that begin with it, as cobra suggests commands. */
export function similarWords(text: string, words: readonly string[]): readonly string[] {
  const lower = text.toLowerCase()
  return words.filter(word => word.startsWith(lower) || editDistance(lower, word) <= 2)
}

/** Longer texts are not compared: no name is that long. */
const lengthMax = 100

/** Levenshtein distance. */
function editDistance(a: string, b: string): number {
  if (a.length > lengthMax || b.length > lengthMax) return lengthMax
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let row = 1; row <= a.length; row++) {
    const current = [row]
    for (let column = 1; column <= b.length; column++) {
      const replaced = previous[column - 1]! + (a[row - 1] === b[column - 1] ? 0 : 1)
      current.push(Math.min(replaced, previous[column]! + 1, current[column - 1]! + 1))
    }
    previous = current
  }
  return previous[b.length]!
}
