import type { Document } from '../discovery/document.ts'
import type { Section } from './sections.ts'

/**
 * OpenAPI v3 documents and their hashes. A document is regenerated only if its section changes. The index
 * needs the hash of every document; a document itself is cached only after it was requested, because
 * documents are large and most are never read.
 */
export class SectionDocuments {
  readonly #make: (section: Section) => Promise<Document>
  readonly #hashes = new WeakMap<Section, string>()
  readonly #documents = new WeakMap<Section, Document>()

  constructor(make: (section: Section) => Promise<Document>) {
    this.#make = make
  }

  async document(section: Section): Promise<Document> {
    const known = this.#documents.get(section)
    if (known) return known
    const document = await this.#make(section)
    this.#documents.set(section, document)
    this.#hashes.set(section, document.hash)
    return document
  }

  /** A promise only if the document has to be generated. */
  hash(section: Section): string | Promise<string> {
    return this.#hashes.get(section) ?? this.#makeHash(section)
  }

  async #makeHash(section: Section): Promise<string> {
    const { hash } = await this.#make(section)
    this.#hashes.set(section, hash)
    return hash
  }
}
