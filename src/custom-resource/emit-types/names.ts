/** The type names of a module, all different. */
export class TypeNames {
  readonly #used = new Set<string>(globals)

  /** The name itself, or with a number if it is taken. */
  reserve(name: string): string {
    let free = name
    for (let number = 2; this.#used.has(free); number++) free = `${name}${number}`
    this.#used.add(free)
    return free
  }
}

/** Names that the modules use. */
const globals = ['Readonly', 'Record']

/** `http-route` and `httpRoute` become `HttpRoute`. */
export function pascalCase(text: string): string {
  const words = text.split(/[^A-Za-z0-9]+/).filter(word => word !== '')
  const joined = words.map(word => word.charAt(0).toUpperCase() + word.slice(1)).join('')
  return /^[A-Za-z]/.test(joined) ? joined : `_${joined}`
}

/** The name of an item of a list: `ports` becomes `port`, `policies` becomes `policy`. */
export function singularOf(plural: string): string {
  if (/[^aeiou]ies$/.test(plural)) return `${plural.slice(0, -'ies'.length)}y`
  if (/(?:ss|sh|ch|x)es$/.test(plural)) return plural.slice(0, -'es'.length)
  if (/[^su]s$/.test(plural) && !/(?:is|Class)$/.test(plural)) return plural.slice(0, -1)
  return `${plural}Item`
}

/** In single quotes, unless characters have to be escaped. */
export function stringLiteral(text: string): string {
  return /^[^'"\\\p{Cc}\u2028\u2029]*$/u.test(text) ? `'${text}'` : JSON.stringify(text)
}
