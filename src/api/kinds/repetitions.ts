/**
 * For each item of a list, whether it stood there before. One pass: lists come from clients and may be long.
 */
export function repetitions(list: readonly string[]): readonly boolean[] {
  const seen = new Set<string>()
  return list.map(item => {
    const isRepeated = seen.has(item)
    seen.add(item)
    return isRepeated
  })
}
