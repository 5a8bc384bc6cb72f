import type { JsonValue } from '#/api/text/json-value.ts'
import { quote } from '#/api/text/quote.ts'
import { formatJson, formatValue } from './go-format.ts'
import { Execution } from './go-template/execution.ts'
import { functions } from './go-template/functions.ts'
import { parseTemplate } from './go-template/parse-template.ts'
import { Boxed, unbox } from './go-template/template-value.ts'

/** A template in the language of Go's `text/template` with kubectl's functions. */
export interface GoTemplate {
  /** The output. `bytesOfText` encodes it without loss, also if a Secret in it is not text. Throws GoTemplateError. */
  execute(data: JsonValue): string
}

export interface GoTemplateOptions {
  /** The name of the template in messages. */
  readonly name: string
  /** Without, a missing key is an error. */
  readonly allowMissingKeys: boolean
}

/** A template is invalid, or does not fit the object. */
export class GoTemplateError extends Error {
  /** What is to be written to the standard output before the message: the output so far, and what helps to debug. */
  readonly output: string

  constructor(message: string, output: string) {
    super(message)
    this.name = 'GoTemplateError'
    this.output = output
  }
}

/** Throws GoTemplateError. */
export function parseGoTemplate(text: string, { name, allowMissingKeys }: GoTemplateOptions): GoTemplate {
  try {
    const isFunction = (called: string) => Object.hasOwn(functions, called)
    const templates = parseTemplate({ name, text, isFunction })
    return {
      execute(data) {
        const pieces: string[] = []
        const write = (piece: string) => void pieces.push(piece)
        const execution = new Execution({ name, text, templates, allowMissingKeys, write })
        try {
          execution.run(unbox(new Boxed(data)))
        } catch (error) {
          if (!(error instanceof Error)) throw error
          pieces.push(explain({ text, data, message: error.message }))
          const message = `error executing template ${quote(text)}: ${error.message}`
          throw new GoTemplateError(message, pieces.join(''))
        }
        return pieces.join('')
      },
    }
  } catch (error) {
    throw error instanceof Error ? new GoTemplateError(error.message, '') : error
  }
}

interface Failure {
  readonly text: string
  readonly data: JsonValue
  readonly message: string
}

function explain({ text, data, message }: Failure): string {
  return (
    `Error executing template: ${message}. Printing more information for debugging the template:\n` +
    `\ttemplate was:\n\t\t${text}\n` +
    `\traw data was:\n\t\t${formatJson(data)}\n` +
    `\tobject given to template engine was:\n\t\t${formatValue(data)}\n\n`
  )
}
