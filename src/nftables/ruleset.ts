/**
 * The desired objects of a table, by owner. A shared object exists while at least one owner wants it; when owners
 * want different content, as services with the same external address and port do, the first owner by name wins.
 */
export class Ruleset {
  readonly #fragments = new Map<string, Fragment>()
  readonly #wanted = new Map<string, Map<string, string>>()
  /** Content of changed objects at the time of the last `takeChanges`. */
  readonly #before = new Map<string, string | undefined>()

  /** Sets the objects of an owner; an empty fragment removes it. */
  replace(owner: string, fragment: Fragment): void {
    const before = this.#fragments.get(owner)
    if (fragment.size > 0) this.#fragments.set(owner, fragment)
    else this.#fragments.delete(owner)
    for (const [id, content] of before ?? [])
      if (fragment.get(id) !== content) this.#want(id, owner, undefined)
    for (const [id, content] of fragment) if (before?.get(id) !== content) this.#want(id, owner, content)
  }

  /** Changes since the last call, in no particular order. */
  takeChanges(): readonly Change[] {
    const changes = [...this.#before].map(([id, before]) => ({ id, before, after: this.#contentOf(id) }))
    this.#before.clear()
    return changes.filter(({ before, after }) => before !== after)
  }

  /** All desired objects. */
  objects(): ReadonlyMap<string, string> {
    return new Map([...this.#wanted.keys()].map(id => [id, this.#contentOf(id) ?? '']))
  }

  #want(id: string, owner: string, content: string | undefined): void {
    if (!this.#before.has(id)) this.#before.set(id, this.#contentOf(id))
    const owners = this.#wanted.get(id) ?? new Map<string, string>()
    if (content === undefined) owners.delete(owner)
    else owners.set(owner, content)
    if (owners.size > 0) this.#wanted.set(id, owners)
    else this.#wanted.delete(id)
  }

  #contentOf(id: string): string | undefined {
    const owners = this.#wanted.get(id)
    if (owners === undefined || owners.size < 2) return owners?.values().next().value
    return owners.get([...owners.keys()].reduce((a, b) => (a < b ? a : b)))
  }
}

/** Content of objects by id (`objects.ts`). */
export type Fragment = ReadonlyMap<string, string>

export interface Change {
  readonly id: string
  /** Undefined when the object did not exist. */
  readonly before: string | undefined
  /** Undefined when the object no longer exists. */
  readonly after: string | undefined
}
