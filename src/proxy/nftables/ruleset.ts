/**
 * Named things in a table and what they hold, wanted by those who own them. What several want is there while one of
 * them does; where they want it differently, which only services with the same external address and port can, the
 * first by name has it.
 */
export class Ruleset {
  readonly #fragments = new Map<string, Fragment>()
  readonly #wanted = new Map<string, Map<string, string>>()
  /** What the things held when changes were last taken. */
  readonly #before = new Map<string, string | undefined>()

  /** What an owner wants from now on; nothing when it is empty. */
  replace(owner: string, fragment: Fragment): void {
    const before = this.#fragments.get(owner)
    if (fragment.size > 0) this.#fragments.set(owner, fragment)
    else this.#fragments.delete(owner)
    for (const [id, content] of before ?? [])
      if (fragment.get(id) !== content) this.#want(id, owner, undefined)
    for (const [id, content] of fragment) if (before?.get(id) !== content) this.#want(id, owner, content)
  }

  /** What is different since this was last asked, in no particular order. */
  takeChanges(): readonly Change[] {
    const changes = [...this.#before].map(([id, before]) => ({ id, before, after: this.#contentOf(id) }))
    this.#before.clear()
    return changes.filter(({ before, after }) => before !== after)
  }

  /** All that is wanted. */
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

/** Things by their ids (`objects.ts`), with what they hold. */
export type Fragment = ReadonlyMap<string, string>

export interface Change {
  readonly id: string
  /** Undefined when it was not there. */
  readonly before: string | undefined
  /** Undefined when it is not there any more. */
  readonly after: string | undefined
}
