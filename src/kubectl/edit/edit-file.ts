import { messageOf } from '#/base/message-of.ts'
import { quote } from '#/api/text/quote.ts'
import { stringifyJson } from '#/api/text/json.ts'
import { ExitError } from '../errors.ts'
import type { Factory } from '../factory.ts'
import { requireResources } from '../resource/find-resources.ts'
import type { Info } from '../resource/info.ts'
import { openEditor, type EditedFile } from './open-editor.ts'

/** Why a file must be edited again; written into its header. */
export interface EditReason {
  readonly head: string
  readonly details?: readonly string[]
}

export interface EditSession {
  /** The objects as YAML or JSON, without a header. */
  readonly text: string
  /** JSON has no comments, and therefore no header. */
  readonly format: 'json' | 'yaml'
  /** The first lines of the header, each with `#`. */
  readonly header?: string
  readonly windowsLineEndings?: boolean | undefined
  readonly validatesType: boolean
  /** What is edited, for messages: `configmaps "two"`. */
  readonly subject: string
  /**
   * Saves the edited objects. Resolves to reasons to edit the file again. If it throws, the file is kept, and
   * the user is told where it is, unless it is an ExitError.
   */
  readonly save: (infos: readonly Info[], path: string) => Promise<readonly EditReason[]>
}

const usualHeader = `# Please edit the object below. Lines beginning with a '#' will be ignored,
# and an empty file will abort the edit. If an error occurs while saving this file will be
# reopened with the relevant failures.
#
`

/** Lets the user edit objects in an editor until they are saved, or the edit is cancelled. */
export async function editFile(factory: Factory, session: EditSession): Promise<void> {
  const { machine } = factory
  const { files } = machine.platform
  const { stderr } = machine.streams
  let text = session.text
  let reasons: readonly EditReason[] = []
  let last: EditedFile | undefined
  const preserved = (path: string, error: unknown): unknown => {
    stderr.write(`A copy of your changes has been stored to ${quote(path)}\n`)
    return error
  }
  for (;;) {
    const previous = last
    const edited = await openEditor(machine, {
      text: withLineEndings(headerOf(session, reasons) + text, session),
      extension: `.${session.format}`,
    }).catch(error => Promise.reject(previous === undefined ? error : preserved(previous.path, error)))
    last = edited
    const content = withoutComments(edited.text)
    if (previous !== undefined) {
      if (withoutComments(previous.text) === content) {
        throw preserved(edited.path, new Error('Edit cancelled, no valid changes were saved.'))
      }
      await files.remove(previous.path)
    }
    const cancelled = await cancellationOf(session, content)
    if (cancelled !== undefined) {
      await files.remove(edited.path)
      stderr.write(`${cancelled}\n`)
      return
    }
    const infos = await readEdited(factory, session, edited.path)
    try {
      reasons = 'head' in infos ? [infos] : await session.save(infos, edited.path)
    } catch (error) {
      throw error instanceof ExitError ? error : preserved(edited.path, error)
    }
    if (reasons.length === 0) {
      await files.remove(edited.path)
      return
    }
    text = content
  }
}

async function cancellationOf({ text }: EditSession, content: string): Promise<string | undefined> {
  if (content.trim() === '') return 'Edit cancelled, saved file was empty.'
  const before = withoutComments(text)
  const isSame = before === content || (await canonical(before)) === (await canonical(content))
  return isSame ? 'Edit cancelled, no changes made.' : undefined
}

/** As JSON, or as it is if it is not YAML. */
async function canonical(text: string): Promise<string> {
  const { readYamlDocuments } = await import('#/api/text/yaml.ts')
  const { sorted } = await import('../printers/object-printer.ts')
  try {
    const values = [...readYamlDocuments(Buffer.from(text))].map(({ value }) => value)
    return stringifyJson(sorted({ values }))
  } catch {
    return text
  }
}

/** The edited objects, or why the file is invalid. */
async function readEdited(
  factory: Factory,
  { subject, validatesType }: EditSession,
  path: string,
): Promise<readonly Info[] | EditReason> {
  try {
    return await requireResources(factory, { filenames: [path], validatesType })
  } catch (error) {
    const message = messageOf(error).replaceAll(path, 'edited-file')
    const invalid = /^error (?:validating|parsing) \S+ (?:error [^:]*: )*([^;]*)/.exec(message)
    if (invalid === null) return { head: `The edited file had a syntax error: ${message}` }
    factory.machine.streams.stderr.write(`error: ${subject} is invalid\n`)
    const detail = `<nil>: Invalid value: "The edited file failed validation": ${invalid[1]}`
    return { head: `${subject} was not valid`, details: [detail] }
  }
}

function headerOf({ format, header = usualHeader }: EditSession, reasons: readonly EditReason[]): string {
  if (format === 'json') return ''
  const comments = reasons.map(({ head, details = [] }) => {
    const lines = details.map(detail => `# * ${commented(detail)}\n`).join('')
    return `# ${commented(head)}${details.length > 0 ? ':' : ''}\n${lines}#\n`
  })
  return `${header}${comments.join('')}`
}

function commented(text: string): string {
  return text.replaceAll(/\n(?=[^#])/g, '\n# ')
}

function withLineEndings(text: string, { windowsLineEndings }: EditSession): string {
  return windowsLineEndings ? text.replaceAll('\n', '\r\n') : text
}

/** A line that begins with `#!` is no comment. */
function withoutComments(text: string): string {
  const lines = text.replaceAll('\r\n', '\n').split('\n')
  return lines.filter(line => !/^\s*#(?!!)/.test(line)).join('\n')
}
