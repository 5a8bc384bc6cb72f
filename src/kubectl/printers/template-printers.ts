/** Printers for `-o go-template` and `-o jsonpath`. */
import { messageOf } from '#/base/message-of.ts'
import { bytesOfText } from './byte-text.ts'
import { parseGoTemplate } from './go-template.ts'
import { parseJsonPathTemplate, type JsonPathTemplate } from './json-path-template.ts'
import type { ObjectPrinter } from './object-printer.ts'

/** The printer throws GoTemplateError, whose `output` is to be printed, too. */
export function goTemplatePrinter(text: string, allowMissingKeys: boolean): ObjectPrinter {
  const template = parsed(`template ${text}`, () =>
    parseGoTemplate(text, { name: 'output', allowMissingKeys }),
  )
  return object => bytesOfText(template.execute(object))
}

export function jsonPathPrinter(text: string, allowMissingKeys: boolean): ObjectPrinter {
  const template = parsedJsonPath(text, allowMissingKeys)
  return object => template.execute(object)
}

export function jsonPathAsJsonPrinter(text: string, allowMissingKeys: boolean): ObjectPrinter {
  const template = parsedJsonPath(text, allowMissingKeys)
  return object => template.executeAsJson(object)
}

function parsedJsonPath(text: string, allowMissingKeys: boolean): JsonPathTemplate {
  return parsed(`jsonpath ${text}`, () => parseJsonPathTemplate(text, { allowMissingKeys }))
}

function parsed<T>(name: string, parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    throw new Error(`error parsing ${name}, ${messageOf(error)}`, { cause: error })
  }
}
