import { quote } from '#/api/text/quote.ts'
import type { Machine } from '../factory.ts'

export interface EditorOptions {
  readonly text: string
  /** `.yaml` or `.json`. */
  readonly extension: string
}

/** A temporary file that the user has edited. */
export interface EditedFile {
  readonly path: string
  readonly text: string
}

const ownerOnly = 0o600

/** Opens a text in the editor of the user. Throws Error if the editor fails; there is no file then. */
export async function openEditor(machine: Machine, { text, extension }: EditorOptions): Promise<EditedFile> {
  const { files, random } = machine.platform
  const folder = machine.temporaryFolder.replace(/\/$/, '')
  const path = `${folder}/kubectl-edit-${random.uuid('edited file')}${extension}`
  await files.write(path, text, { mode: ownerOnly })
  try {
    await launch(machine, path)
    return { path, text: Buffer.from(await files.read(path)).toString() }
  } catch (error) {
    await files.remove(path)
    throw error
  }
}

async function launch({ environment, streams }: Machine, path: string): Promise<void> {
  const editor = environment['KUBE_EDITOR'] || environment['EDITOR'] || 'vi'
  const shell = environment['SHELL'] || '/bin/bash'
  // The shell parses an editor with quotes: `code --wait "--new-window"`.
  const needsShell = editor.includes(' ') && /["'\\]/.test(editor)
  const words = needsShell ? [shell, '-c', editor] : editor.split(' ').filter(word => word !== '')
  const command = needsShell ? [shell, '-c', `${editor} "${path}"`] : [...words, path]
  const failure = (cause?: unknown): Error =>
    new Error(`there was a problem with the editor ${quote(words.join(' '))}`, { cause })
  let status: number
  try {
    ;({ status } = await streams.runInteractive(command))
  } catch (error) {
    throw failure(error)
  }
  if (status !== 0) throw failure()
}
