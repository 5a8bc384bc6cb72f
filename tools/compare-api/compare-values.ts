/** One place where two JSON values differ. */
export interface Difference {
  /** The keys of the path, each with a leading slash. */
  readonly place: string
  /** Undefined when the value is missing on that side. */
  readonly ours: unknown
  readonly theirs: unknown
}

export function compareValues(ours: unknown, theirs: unknown, place = ''): readonly Difference[] {
  if (Array.isArray(ours) && Array.isArray(theirs)) {
    if (ours.length !== theirs.length) return [{ place, ours, theirs }]
    return ours.flatMap((each, index) => compareValues(each, theirs[index], `${place}/${index}`))
  }
  if (isObject(ours) && isObject(theirs)) {
    return [...new Set([...Object.keys(ours), ...Object.keys(theirs)])]
      .sort()
      .flatMap(key => compareValues(ours[key], theirs[key], `${place}/${key}`))
  }
  return ours === theirs ? [] : [{ place, ours, theirs }]
}

export function writeDifference({ place, ours, theirs }: Difference): string {
  if (ours === undefined) return `${place}: is missing, should be ${short(theirs)}`
  if (theirs === undefined) return `${place}: should not be there, is ${short(ours)}`
  return `${place}: is ${short(ours)}, should be ${short(theirs)}`
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function short(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length > charactersMax ? `${text.slice(0, charactersMax)}...` : text
}

const charactersMax = 200
