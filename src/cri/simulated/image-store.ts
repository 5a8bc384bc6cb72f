import { createHash } from 'node:crypto'
import { CriError, type Image, type RegistryAuth } from '../cri.ts'
import { ImageReferenceError, normalizeImage, parseImageReference, repositoryOf } from '../image-reference.ts'
import type { ImageScript } from './script.ts'

const usualSizeBytes = 10_000_000

/** Images by fully qualified name. All images can be pulled unless a script disallows it. */
export class ImageStore {
  readonly #scripts = new Map<string, ImageScript>()
  readonly #images = new Map<string, Image>()
  readonly #failures = new Map<string, number>()

  constructor(scripts: Readonly<Record<string, ImageScript>>) {
    for (const [name, script] of Object.entries(scripts)) this.setScript(name, script)
  }

  setScript(name: string, script: ImageScript): void {
    const full = normalizeImage(name)
    this.#scripts.set(full, script)
    if (script.isPresent) this.#images.set(full, imageOf(full, script))
  }

  /** Script of an image, empty if none is set. */
  script(reference: string): ImageScript {
    return this.#scripts.get(fullName(reference) ?? '') ?? {}
  }

  list(): readonly Image[] {
    return [...this.#images.values()]
  }

  find(reference: string): Image | undefined {
    const full = fullName(reference)
    const byName = full === undefined ? undefined : this.#images.get(full)
    return (
      byName ?? this.list().find(({ id, digests }) => id === reference || digests.includes(full ?? reference))
    )
  }

  /** Returns the image id. Throws CriError as for a registry error. */
  pull(reference: string, auth: RegistryAuth | undefined): string {
    const full = fullName(reference)
    if (full === undefined) {
      throw new CriError('failed', `failed to parse image reference "${reference}": invalid reference format`)
    }
    const script = this.script(full)
    const { username, password } = decoded(auth)
    const failures = this.#failures.get(full) ?? 0
    if (script.auth && (script.auth.username !== username || script.auth.password !== password)) {
      throw new CriError('failed', pullText(full, 'failed to authorize: unexpected status: 401 Unauthorized'))
    }
    if (script.pullError !== undefined && failures < (script.pullFailures ?? Infinity)) {
      this.#failures.set(full, failures + 1)
      throw new CriError('failed', pullText(full, script.pullError))
    }
    const image = this.#images.get(full) ?? imageOf(full, script)
    this.#images.set(full, image)
    return image.id
  }

  remove(reference: string): void {
    const image = this.find(reference)
    for (const [name, { id }] of this.#images) if (id === image?.id) this.#images.delete(name)
  }
}

function fullName(reference: string): string | undefined {
  try {
    return normalizeImage(reference)
  } catch (error) {
    if (error instanceof ImageReferenceError) return undefined
    throw error
  }
}

function imageOf(
  name: string,
  { sizeBytes = usualSizeBytes, uid, username, isPinned = false }: ImageScript,
): Image {
  const reference = parseImageReference(name)
  const hash = createHash('sha256').update(name).digest('hex')
  const digest = reference.digest ?? `sha256:${createHash('sha256').update(hash).digest('hex')}`
  return {
    id: `sha256:${hash}`,
    tags: reference.digest === undefined ? [name] : [],
    digests: [`${repositoryOf(reference)}@${digest}`],
    sizeBytes,
    ...(uid !== undefined && { uid }),
    ...(username !== undefined && { username }),
    isPinned,
  }
}

function pullText(name: string, reason: string): string {
  return `failed to pull and unpack image "${name}": failed to resolve reference "${name}": ${reason}`
}

function decoded({ username, password, auth }: RegistryAuth = {}): RegistryAuth {
  if (auth === undefined) return { username, password }
  const [name, ...rest] = Buffer.from(auth, 'base64').toString().split(':')
  return { username: name, password: rest.join(':') }
}
