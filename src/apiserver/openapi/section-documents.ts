import type { Resource } from '#/api/resource.ts'
import type { Document } from '../discovery/document.ts'
import type { Section } from './sections.ts'

/**
 * OpenAPI v3 documents and their hashes. A document is regenerated only if its resources change. The index
 * needs the hash of every document; a document itself is cached only after it was requested, because
 * documents are large and most are never read.
 */
export class SectionDocuments {
  readonly #make: (section: Section) => Promise<Document>
  readonly #kept = new Map<string, Kept>()

  constructor(make: (section: Section) => Promise<Document>) {
    this.#make = make
  }

  async document(section: Section): Promise<Document> {
    const known = this.#known(section)?.document
    if (known) return known
    const document = await this.#make(section)
    this.#kept.set(section.name, { resources: section.resources, hash: document.hash, document })
    return document
  }

  async hash(section: Section): Promise<string> {
    const known = this.#known(section)
    if (known) return known.hash
    const { hash } = await this.#make(section)
    this.#kept.set(section.name, { resources: section.resources, hash })
    return hash
  }

  /** Removes all other sections from the cache. */
  keepOnly(sections: ReadonlyMap<string, Section>): void {
    for (const name of this.#kept.keys()) if (!sections.has(name)) this.#kept.delete(name)
  }

  #known({ name, resources }: Section): Kept | undefined {
    const kept = this.#kept.get(name)
    return kept && isSame(kept.resources, resources) ? kept : undefined
  }
}

interface Kept {
  readonly resources: readonly Resource[]
  readonly hash: string
  readonly document?: Document
}

function isSame(left: readonly Resource[], right: readonly Resource[]): boolean {
  return left.length === right.length && left.every((each, index) => each === right[index])
}
