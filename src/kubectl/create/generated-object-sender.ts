import type { JsonObject } from '#/api/text/json-object.ts'
import { changeCauseOf, recordFlag, withChangeCause } from '../change-cause.ts'
import type { Invocation } from '../command.ts'
import type { CommandNamespace } from '../factory.ts'
import { printFlags } from '../printers/object-printer.ts'
import { resultPrinterOf, type ResultPrinter } from '../printers/result-printer.ts'
import { lastAppliedOf } from '../resource/last-applied.ts'
import { dryRunFlag, dryRunOf, fieldManagerFlag, type DryRun } from '../write-flags.ts'
import { withGeneratedConfiguration, withNamespace, type GeneratedResource } from './generated-object.ts'
import { saveConfigFlag } from './object-creator.ts'

/** The flags of commands that generate objects from others, and create them. */
export function sendFlags(fieldManager: string) {
  return {
    ...printFlags,
    'dry-run': dryRunFlag,
    'field-manager': fieldManagerFlag(fieldManager),
    'record': recordFlag,
    'save-config': saveConfigFlag,
  }
}

type SendInvocation = Invocation<ReturnType<typeof sendFlags>>

/** Creates generated objects at the server; in a dry run of the client, they remain as they are. */
export class GeneratedObjectSender {
  readonly dryRun: DryRun
  readonly namespace: CommandNamespace
  /** Prints an object. */
  readonly print: ResultPrinter
  readonly #invocation: SendInvocation
  readonly #fieldManager: string

  private constructor(invocation: SendInvocation, prepared: Prepared) {
    this.#invocation = invocation
    this.dryRun = prepared.dryRun
    this.namespace = prepared.namespace
    this.print = prepared.print
    this.#fieldManager = prepared.fieldManager
  }

  /** Throws Error for values of flags that do not exist. */
  static async open(invocation: SendInvocation, fieldManager: string): Promise<GeneratedObjectSender> {
    const { factory, flags, streams } = invocation
    const dryRun = dryRunOf(flags['dry-run'], streams)
    const print = await resultPrinterOf({ flags, machine: factory.machine, dryRun, keepsFieldOrder: true })
    const namespace = await factory.namespace()
    const manager = flags['field-manager'] ?? fieldManager
    return new GeneratedObjectSender(invocation, { dryRun, print, namespace, fieldManager: manager })
  }

  /** Returns the object as the server has created it. */
  async send(resource: GeneratedResource, object: JsonObject): Promise<JsonObject> {
    const recorded = withChangeCause(object, changeCauseOf(this.#invocation))
    const { namespace, isExplicit } = this.namespace
    if (this.dryRun === 'client') return isExplicit ? withNamespace(recorded, namespace) : recorded
    const { factory, flags } = this.#invocation
    const saves = flags['save-config'] || lastAppliedOf(recorded) !== ''
    const resources = await factory.resources()
    return resources.create(
      { mapping: resource, namespace },
      saves ? withGeneratedConfiguration(recorded) : recorded,
      { dryRun: this.dryRun === 'server', fieldManager: this.#fieldManager },
    )
  }
}

interface Prepared {
  readonly dryRun: DryRun
  readonly namespace: CommandNamespace
  readonly print: ResultPrinter
  readonly fieldManager: string
}
