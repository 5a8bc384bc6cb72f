import { limitOutputFile, outputBytesMax } from '#/platform/limit-output-file.ts'
import type { Linux } from '#/platform/linux.ts'
import type { AppendFile, Files } from '#/platform/platform.ts'

/**
 * A log file of bounded size: when full it is renamed to `.old`, replacing the previous one. The tail is kept
 * in memory for error messages. Write errors lose lines but stop nothing.
 */
export class ContainerdLog implements AsyncDisposable {
  readonly path: string
  readonly #files: Files
  #file: AppendFile | undefined
  #sizeBytes = 0
  /** Undefined if containerd writes the file itself. */
  #tail: string | undefined
  /** Size of the file when containerd was started. */
  #startBytes = 0
  /** The write in progress. */
  #writing: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(files: Files, path: string) {
    this.#files = files
    this.path = path
  }

  /** Output of the current process. */
  async tail(): Promise<string> {
    if (this.#tail !== undefined) return this.#tail
    const bytes = await this.#files.read(this.path).catch(() => new Uint8Array())
    return Buffer.from(bytes).subarray(this.#startBytes).toString().slice(-tailCharacters)
  }

  async forgetTail(): Promise<void> {
    this.#tail = undefined
    this.#startBytes = (await this.#files.stat(this.path))?.sizeBytes ?? 0
  }

  /** Of a file that containerd appends to itself. */
  async limitFile(linux: Pick<Linux, 'run'>): Promise<void> {
    if (await limitOutputFile({ files: this.#files, linux, path: this.path })) this.#startBytes = 0
  }

  async append(bytes: Uint8Array): Promise<void> {
    this.#tail = ((this.#tail ?? '') + Buffer.from(bytes).toString()).slice(-tailCharacters)
    if (this.#isClosed) return
    this.#writing = this.#writing.then(() => this.#write(bytes)).catch(() => this.#close())
    await this.#writing
  }

  /** Later lines are kept in memory only. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    await this.#writing
    await this.#close()
  }

  async #write(bytes: Uint8Array): Promise<void> {
    if (this.#file === undefined) {
      this.#sizeBytes = (await this.#files.stat(this.path))?.sizeBytes ?? 0
      this.#file = await this.#files.openAppend(this.path, { mode: 0o600 })
    }
    if (this.#sizeBytes + bytes.length > outputBytesMax && this.#sizeBytes > 0) {
      await this.#close()
      await this.#files.rename(this.path, `${this.path}.old`)
      return this.#write(bytes)
    }
    await this.#file.append(bytes)
    this.#sizeBytes += bytes.length
  }

  async #close(): Promise<void> {
    const file = this.#file
    this.#file = undefined
    try {
      await file?.[Symbol.asyncDispose]()
    } catch {
      // Unwritten lines are lost.
    }
  }
}

const tailCharacters = 4_000

/**
 * One-line cause of a containerd failure from the tail of its log: its final error message, otherwise the
 * last logged error.
 */
export function failureText(output: string): string {
  const lines = output.split('\n').filter(line => line.trim() !== '')
  const exitReason = lines.findLast(line => line.startsWith('containerd: '))
  if (exitReason) return exitReason.slice('containerd: '.length)
  const logged = lines.findLast(line => /\blevel=(?:fatal|error|panic)\b/.test(line))
  if (logged) return readable(logged)
  const panic = lines.find(line => line.startsWith('panic: ') || line.startsWith('fatal error: '))
  return panic ?? lines.at(-1)?.trim() ?? 'no output'
}

/**
 * Cause of a plugin load failure. The first failed plugin is reported, because later ones may depend on it.
 */
export function pluginFailureText(output: string): string {
  const failed = output.split('\n').find(line => line.includes('failed to load plugin'))
  return failed === undefined ? failureText(output) : readable(failed)
}

/** Message and error of a logrus line. */
function readable(line: string): string {
  const field = (name: string): string | undefined => {
    const found = new RegExp(`\\b${name}=("(?:[^"\\\\]|\\\\.)*"|\\S+)`).exec(line)?.[1]
    return found?.startsWith('"') ? found.slice(1, -1).replaceAll(/\\(.)/g, '$1') : found
  }
  const [message, error] = [field('msg'), field('error')]
  return [message, error].filter(Boolean).join(': ') || line.trim()
}
