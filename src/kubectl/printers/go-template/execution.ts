import { quote } from '#/api/text/quote.ts'
import { formatValue, GoNumber, isFloat, isNumber, sortedKeys, typeOf } from '../go-format.ts'
import { functions, type TemplateFunction } from './functions.ts'
import type {
  ChainOperand,
  Command,
  ControlNode,
  DotOperand,
  Expression,
  LiteralOperand,
  Operand,
  Pipeline,
  TemplateCall,
  TemplateNode,
  VariableOperand,
} from './nodes.ts'
import { sourceOf } from './nodes.ts'
import type { Templates } from './parse-template.ts'
import { Boxed, integer, isMap, isTrue, numberOf, unbox, type TemplateValue } from './template-value.ts'

export interface ExecutionOptions {
  readonly name: string
  readonly text: string
  readonly templates: Templates
  readonly allowMissingKeys: boolean
  readonly write: (text: string) => void
}

/** Maximum nesting of actions and templates, which is safe for the stack. */
const depthMax = 1_000

/** Maximum number of iterations over an integer. */
const rangeMax = 10_000_000

/** `break` or `continue`, until the range around has been found. */
type Jump = 'break' | 'continue' | undefined

/** The value of the command before, which is the last argument of the next. */
interface Piped {
  readonly value: TemplateValue
}

/** What an operand at the start of a command is applied to. */
interface Application {
  /** All operands of the command. */
  readonly operands: readonly Operand[]
  readonly piped: Piped | undefined
}

const noArguments: Application = { operands: [], piped: undefined }

interface Variable {
  readonly name: string
  value: TemplateValue
}

/** One execution of a template. */
export class Execution {
  readonly #options: ExecutionOptions
  /** The name of the template that is executed. */
  #name: string
  #variables: Variable[] = []
  /** The expression that is evaluated, for messages. */
  #current: Expression | undefined
  #depth = 0

  constructor(options: ExecutionOptions) {
    this.#options = options
    this.#name = options.name
  }

  /** Throws an error with Go's message; what has been written remains. */
  run(data: TemplateValue): void {
    this.#variables = [{ name: '$', value: data }]
    this.#walk(this.#options.templates.get(this.#name) ?? [], data)
  }

  #walk(nodes: readonly TemplateNode[], dot: TemplateValue): Jump {
    if (this.#depth === depthMax) throw this.#error('exceeded maximum template depth (100000)')
    this.#depth++
    let jump: Jump
    for (const node of nodes) {
      jump = this.#walkNode(node, dot)
      if (jump !== undefined) break
    }
    this.#depth--
    return jump
  }

  #walkNode(node: TemplateNode, dot: TemplateValue): Jump {
    switch (node.kind) {
      case 'text':
        this.#options.write(node.text)
        return undefined
      case 'action':
        this.#print(node.pipeline, dot)
        return undefined
      case 'break':
      case 'continue':
        return node.kind
      case 'range':
        return this.#walkRange(node, dot)
      case 'template':
        this.#call(node, dot)
        return undefined
      case 'if':
      case 'with':
      default:
        return this.#walkCondition(node, dot)
    }
  }

  #print(pipeline: Pipeline, dot: TemplateValue): void {
    const value = this.#pipeline(pipeline, dot)
    if (pipeline.variables.length > 0) return
    this.#options.write(value === undefined ? '<no value>' : formatValue(unbox(value)))
  }

  #walkCondition({ kind, pipeline, body, otherwise }: ControlNode, dot: TemplateValue): Jump {
    const mark = this.#variables.length
    const value = this.#pipeline(pipeline, dot)
    const jump = isTrue(value)
      ? this.#walk(body, kind === 'with' ? value : dot)
      : this.#walk(otherwise ?? [], dot)
    this.#variables.length = mark
    return jump
  }

  #walkRange(range: ControlNode, dot: TemplateValue): Jump {
    const mark = this.#variables.length
    const value = this.#pipeline(range.pipeline, dot)
    const marked = this.#variables.length
    let isEmpty = true
    let jump: Jump
    for (const [key, item] of this.#entriesOf(value, range.pipeline.variables.length)) {
      isEmpty = false
      this.#setRangeVariables(range.pipeline, [key, item])
      jump = this.#walk(range.body, item)
      this.#variables.length = marked
      if (jump === 'break') break
    }
    const outer = isEmpty ? this.#walk(range.otherwise ?? [], dot) : undefined
    this.#variables.length = mark
    return outer
  }

  *#entriesOf(value: TemplateValue, variables: number): Iterable<readonly [TemplateValue, TemplateValue]> {
    if (value === undefined) return
    if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) yield [integer(index), new Boxed(item)]
    } else if (isMap(value)) {
      for (const key of sortedKeys(value)) yield [key, new Boxed(value[key] ?? null)]
    } else if (isNumber(value) && !isFloat(value)) {
      const end = BigInt(numberOf(value))
      if (variables > 1) {
        throw this.#error(`can't use ${end} to iterate over more than one variable`)
      }
      if (end > rangeMax) throw this.#error(`range over ${end} exceeds ${rangeMax} iterations`)
      for (let index = 0n; index < end; index++) {
        yield [undefined, value instanceof GoNumber ? new GoNumber(value.type, index) : Number(index)]
      }
    } else {
      throw this.#error(`range can't iterate over ${formatValue(unbox(value))}`)
    }
  }

  /** With one variable, it is the item. */
  #setRangeVariables(
    { variables, isAssignment }: Pipeline,
    [key, item]: readonly [TemplateValue, TemplateValue],
  ): void {
    const values = variables.length > 1 ? [key, item] : [item]
    for (const [index, name] of variables.entries()) {
      if (isAssignment) this.#assign(name, values[index])
      else (this.#variables.at(index - variables.length) as Variable).value = values[index]
    }
  }

  #call(call: TemplateCall, dot: TemplateValue): void {
    this.#current = call
    const nodes = this.#options.templates.get(call.name)
    if (nodes === undefined) throw this.#error(`template ${quote(call.name)} not defined`)
    const data = call.pipeline === undefined ? undefined : this.#pipeline(call.pipeline, dot)
    const [name, variables, current] = [this.#name, this.#variables, this.#current]
    this.#name = call.name
    this.#variables = [{ name: '$', value: data }]
    this.#walk(nodes, data)
    this.#name = name
    this.#variables = variables
    this.#current = current
  }

  #pipeline(pipeline: Pipeline, dot: TemplateValue): TemplateValue {
    this.#current = pipeline
    let piped: Piped | undefined
    for (const command of pipeline.commands) piped = { value: unbox(this.#command(command, dot, piped)) }
    for (const name of pipeline.variables) {
      if (pipeline.isAssignment) this.#assign(name, piped?.value)
      else this.#variables.push({ name, value: piped?.value })
    }
    return piped?.value
  }

  #assign(name: string, value: TemplateValue): void {
    this.#variable(name).value = value
  }

  #variable(name: string): Variable {
    const variable = this.#variables.findLast(each => each.name === name)
    if (variable === undefined) throw this.#error(`undefined variable: ${name}`)
    return variable
  }

  #command(command: Command, dot: TemplateValue, piped: Piped | undefined): TemplateValue {
    const [first] = command.operands as readonly [Operand]
    const application = { operands: command.operands, piped }
    switch (first.kind) {
      case 'field':
        this.#current = first
        return this.#fields({ receiver: dot, names: first.names, application })
      case 'chain':
        return this.#chain(first, dot, application)
      case 'function':
        this.#current = first
        return this.#invoke({ name: first.name, source: command, dot, application })
      case 'variable':
        return this.#variableFields(first, application)
      case 'pipeline':
        this.#rejectArguments(application)
        return this.#pipeline(first, dot)
      case 'nil':
        this.#current = first
        this.#rejectArguments(application)
        throw this.#error('nil is not a command')
      case 'boolean':
      case 'dot':
      case 'number':
      case 'string':
      default:
        this.#current = first
        this.#rejectArguments(application)
        return this.#constant(first, dot)
    }
  }

  #rejectArguments({ operands, piped }: Application): void {
    if (operands.length <= 1 && piped === undefined) return
    throw this.#error(`can't give argument to non-function ${sourceOf(operands[0] as Operand)}`)
  }

  #chain(chain: ChainOperand, dot: TemplateValue, application: Application): TemplateValue {
    this.#current = chain
    const receiver = this.#argument(chain.operand, dot)
    return this.#fields({ receiver, names: chain.fields, application })
  }

  #variableFields(operand: VariableOperand, application: Application): TemplateValue {
    this.#current = operand
    const { value } = this.#variable(operand.name)
    if (operand.fields.length > 0) {
      return this.#fields({ receiver: value, names: operand.fields, application })
    }
    this.#rejectArguments(application)
    return value
  }

  #fields(access: {
    readonly receiver: TemplateValue
    readonly names: readonly string[]
    readonly application: Application
  }): TemplateValue {
    let value = access.receiver
    for (const [index, name] of access.names.entries()) {
      const isLast = index === access.names.length - 1
      value = this.#field(value, name, isLast ? access.application : noArguments)
    }
    return value
  }

  #field(receiver: TemplateValue, name: string, { operands, piped }: Application): TemplateValue {
    const { allowMissingKeys } = this.#options
    if (receiver === undefined) {
      if (!allowMissingKeys) throw this.#error(`nil data; no entry for key ${quote(name)}`)
      return undefined
    }
    const type = receiver instanceof Boxed ? 'interface {}' : typeOf(receiver)
    const value = unbox(receiver)
    if (value === undefined) throw this.#error(`nil pointer evaluating ${type}.${name}`)
    if (!isMap(value)) throw this.#error(`can't evaluate field ${name} in type ${type}`)
    if (operands.length > 1 || piped !== undefined) {
      throw this.#error(`${name} is not a method but has arguments`)
    }
    if (Object.hasOwn(value, name)) return new Boxed(value[name] ?? null)
    if (!allowMissingKeys) throw this.#error(`map has no entry for key ${quote(name)}`)
    return undefined
  }

  #invoke(call: {
    readonly name: string
    /** What an error of the function names. */
    readonly source: Command | Operand
    readonly dot: TemplateValue
    readonly application: Application
  }): TemplateValue {
    const { name, source, dot, application } = call
    const { operands, piped } = application
    const callee = functions[name] as TemplateFunction
    const given = operands.slice(1)
    const fixed = callee.parameters.length
    const count = given.length + (piped === undefined ? 0 : 1)
    if (callee.isVariadic ? count < fixed : count !== fixed) {
      const wanted = callee.isVariadic ? `at least ${fixed} got ${given.length}` : `${fixed} got ${count}`
      throw this.#error(`wrong number of args for ${name}: want ${wanted}`)
    }
    const values: TemplateValue[] = []
    for (const [index, operand] of given.entries()) {
      const isString = callee.parameters[index] === 'string'
      const value = isString ? this.#stringArgument(operand, dot) : this.#argument(operand, dot)
      if (callee.isDecisive?.(value) === true) return value
      values.push(value)
    }
    if (piped !== undefined) {
      const isString = callee.parameters[given.length] === 'string'
      values.push(isString ? this.#toString(piped.value) : piped.value)
    }
    try {
      return callee.call(values, given[0])
    } catch (error) {
      if (!(error instanceof Error)) throw error
      this.#current = source
      throw this.#error(`error calling ${name}: ${error.message}`)
    }
  }

  #argument(operand: Operand, dot: TemplateValue): TemplateValue {
    this.#current = operand
    switch (operand.kind) {
      case 'field':
        return this.#fields({ receiver: dot, names: operand.names, application: noArguments })
      case 'variable':
        return this.#variableFields(operand, noArguments)
      case 'pipeline':
        return this.#pipeline(operand, dot)
      case 'function':
        return this.#invoke({ name: operand.name, source: operand, dot, application: noArguments })
      case 'chain':
        return this.#chain(operand, dot, noArguments)
      case 'nil':
        return undefined
      case 'boolean':
      case 'dot':
      case 'number':
      case 'string':
      default:
        return this.#constant(operand, dot)
    }
  }

  #stringArgument(operand: Operand, dot: TemplateValue): string {
    if (operand.kind === 'nil') {
      this.#current = operand
      throw this.#error('cannot assign nil to string')
    }
    if (operand.kind === 'boolean' || operand.kind === 'number') {
      this.#current = operand
      throw this.#error(`expected string; found ${sourceOf(operand)}`)
    }
    return this.#toString(this.#argument(operand, dot))
  }

  #toString(value: TemplateValue): string {
    const inner = unbox(value)
    if (typeof inner === 'string') return inner
    if (value === undefined) throw this.#error('invalid value; expected string')
    throw this.#error(`wrong type for value; expected string; got ${typeOf(inner)}`)
  }

  #constant(operand: LiteralOperand | DotOperand, dot: TemplateValue): TemplateValue {
    if (operand.kind === 'dot') return dot
    if (operand.kind !== 'number') return operand.value
    this.#current = operand
    if (operand.value.type === 'overflow') throw this.#error(`${operand.source} overflows int`)
    return new GoNumber(operand.value.type, operand.value.value)
  }

  #error(message: string): Error {
    const current = this.#current
    if (current === undefined) return new Error(`template: ${this.#options.name}: ${message}`)
    const { name, text } = this.#options
    const before = text.slice(0, current.at)
    const lineStart = before.lastIndexOf('\n') + 1
    const line = before.split('\n').length
    const column = Buffer.byteLength(before.slice(lineStart))
    return new Error(
      `template: ${name}:${line}:${column}: executing ${quote(this.#name)} at <${sourceOf(current)}>: ${message}`,
    )
  }
}
