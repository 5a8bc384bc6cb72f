/** For each item, true if it occurred before. Linear time: lists come from clients and may be long. */
export function repetitions(list: readonly string[]): readonly boolean[] {
  const seen = new Set<string>()
  return list.map(item => {
    const isRepeated = seen.has(item)
    seen.add(item)
    return isRepeated
  })
}
