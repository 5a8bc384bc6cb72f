import type { JsonObject } from '#/api/text/json-object.ts'
import { stringifyYaml } from '#/api/text/stringify-yaml.ts'
import { ExitError } from '../errors.ts'
import type { Machine } from '../factory.ts'

/** Both versions of the objects, as files with the same names in two folders. */
export class DiffFolders implements AsyncDisposable {
  readonly #machine: Machine
  readonly #live: string
  readonly #merged: string

  private constructor(machine: Machine) {
    this.#machine = machine
    const { random } = machine.platform
    const pathOf = (version: string): string =>
      `${machine.temporaryFolder.replace(/\/$/, '')}/${version}-${random.uuid('diff folder')}`
    this.#live = pathOf('LIVE')
    this.#merged = pathOf('MERGED')
  }

  static async create(machine: Machine): Promise<DiffFolders> {
    const folders = new DiffFolders(machine)
    // Only the user may read them, since they may contain secrets.
    for (const path of [folders.#live, folders.#merged]) {
      await machine.platform.files.makeFolder(path, { mode: 0o700 })
    }
    return folders
  }

  async write(name: string, { live, merged }: { readonly live?: JsonObject; readonly merged?: JsonObject }) {
    const { files } = this.#machine.platform
    // Names of objects have no slashes; a server that returns one must not get another folder written.
    const file = name.replaceAll('/', '_')
    await files.write(`${this.#live}/${file}`, live === undefined ? '' : stringifyYaml(live))
    if (merged !== undefined) await files.write(`${this.#merged}/${file}`, stringifyYaml(merged))
  }

  /** Throws ExitError with the exit code of the program if there are differences. */
  async compare(): Promise<void> {
    const { environment, streams } = this.#machine
    const [program, ...parameters] = diffProgram(environment['KUBECTL_EXTERNAL_DIFF'], [
      this.#live,
      this.#merged,
    ])
    await streams.stdout.flushed()
    let status: number
    try {
      ;({ status } = await streams.runInteractive([program, ...parameters]))
    } catch (error) {
      const { code } = error as { readonly code?: unknown }
      const reason = code === 'ENOENT' ? 'executable file not found in $PATH' : String(code)
      throw new Error(`failed to run ${JSON.stringify(program)}: ${reason}`, {
        cause: error,
      })
    }
    if (status === 1) throw new ExitError(1)
    if (status > 1) throw new Error(`failed to run ${JSON.stringify(program)}: exit status ${status}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { files } = this.#machine.platform
    await files.remove(this.#live)
    await files.remove(this.#merged)
  }
}

/** Words of the variable that could be more than plain options are ignored, as upstream does. */
function diffProgram(given: string | undefined, folders: readonly string[]): readonly [string, ...string[]] {
  if (!given) return ['diff', '-u', '-N', ...folders]
  const [program = '', ...options] = given.split(' ')
  return [program, ...folders, ...options.filter(option => /^[a-zA-Z0-9-=]+$/.test(option))]
}
