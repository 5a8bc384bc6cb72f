import type { JsonObject } from '#/api/text/json-object.ts'
import type { Machine } from '../factory.ts'
import { operationText, type DryRun } from '../write-flags.ts'
import { namesIn, objectPrinterOf, type PrintFlagValues } from './object-printer.ts'

export interface ResultPrinterOptions {
  readonly flags: PrintFlagValues
  readonly machine: Machine
  readonly dryRun: DryRun
  /** Keeps the order of fields in JSON, as for objects that kubectl has generated. */
  readonly keepsFieldOrder?: boolean
}

/** Prints an object after an operation on it: `labeled`. */
export type ResultPrinter = (object: JsonObject, operation: string) => void

/** In the format of `--output`, or `configmap/web labeled`. Throws Error for an unknown format. */
export async function resultPrinterOf(options: ResultPrinterOptions): Promise<ResultPrinter> {
  const { flags, machine, dryRun, keepsFieldOrder = false } = options
  const { streams } = machine
  const print = await objectPrinterOf({ flags, machine, keepsFieldOrder })
  return (object, operation) => {
    if (print !== undefined) streams.write(print(object))
    else for (const name of namesIn(object)) streams.write(`${name} ${operationText(operation, dryRun)}\n`)
  }
}
