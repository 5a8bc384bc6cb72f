import { chunkOf, type Chunk, type Document } from '../discovery/document.ts'
import type { Section } from './sections.ts'

/**
 * OpenAPI v3 documents and their entries in the index. A document is generated again only if its section changes.
 * The index contains the hash of every document; a document itself is cached only after it was requested, because
 * documents are large and most are never read.
 */
export class SectionDocuments {
  readonly #make: (section: Section) => Promise<Document>
  readonly #documents = new WeakMap<Section, Document>()
  readonly #indexEntries = new WeakMap<Section, Chunk>()

  constructor(make: (section: Section) => Promise<Document>) {
    this.#make = make
  }

  async document(section: Section): Promise<Document> {
    const known = this.#documents.get(section)
    if (known) return known
    const document = await this.#make(section)
    this.#documents.set(section, document)
    return document
  }

  async indexEntries(sections: Iterable<Section>): Promise<readonly Chunk[]> {
    const entries: Chunk[] = []
    // No promise for known entries: there are many.
    for (const section of sections) {
      entries.push(this.#indexEntries.get(section) ?? (await this.#makeIndexEntry(section)))
    }
    return entries
  }

  async #makeIndexEntry(section: Section): Promise<Chunk> {
    const { hash } = this.#documents.get(section) ?? (await this.#make(section))
    const entry = indexEntry(section.name, sectionUrl(section, hash))
    this.#indexEntries.set(section, entry)
    return entry
  }
}

/** With the hash of the document. */
export function sectionUrl({ name }: Section, hash: string): string {
  return `/openapi/v3/${name}?hash=${hash}`
}

/** A member of the `paths` of the index, with a comma before it. */
export function indexEntry(name: string, serverRelativeURL: string): Chunk {
  return chunkOf(`,${JSON.stringify(name)}:${JSON.stringify({ serverRelativeURL })}`)
}
