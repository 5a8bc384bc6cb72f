import { quote } from '#/api/text/quote.ts'
import type { NumberConstant } from './number-constant.ts'

/** Part of a template that is executed in order. `at` is its position in the text. */
export type TemplateNode =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'action'; readonly pipeline: Pipeline }
  | { readonly kind: 'break' }
  | { readonly kind: 'continue' }
  | ControlNode
  | TemplateCall

export interface ControlNode {
  readonly kind: 'if' | 'range' | 'with'
  readonly pipeline: Pipeline
  readonly body: readonly TemplateNode[]
  readonly otherwise: readonly TemplateNode[] | undefined
}

export interface TemplateCall {
  readonly kind: 'template'
  readonly at: number
  readonly name: string
  readonly pipeline: Pipeline | undefined
}

export interface Pipeline {
  readonly kind: 'pipeline'
  readonly at: number
  /** Names of the variables that the pipeline sets. */
  readonly variables: readonly string[]
  /** `=` instead of `:=`. */
  readonly isAssignment: boolean
  readonly commands: readonly Command[]
}

export interface Command {
  readonly kind: 'command'
  readonly at: number
  /** At least one. */
  readonly operands: readonly Operand[]
}

export type Operand =
  | LiteralOperand
  | DotOperand
  | { readonly kind: 'nil'; readonly at: number }
  | { readonly kind: 'function'; readonly at: number; readonly name: string }
  | FieldOperand
  | VariableOperand
  | ChainOperand
  | Pipeline

export type LiteralOperand =
  | { readonly kind: 'boolean'; readonly at: number; readonly value: boolean }
  | { readonly kind: 'string'; readonly at: number; readonly source: string; readonly value: string }
  | { readonly kind: 'number'; readonly at: number; readonly source: string; readonly value: NumberConstant }

export interface DotOperand {
  readonly kind: 'dot'
  readonly at: number
}

export interface FieldOperand {
  readonly kind: 'field'
  readonly at: number
  readonly names: readonly string[]
}

export interface VariableOperand {
  readonly kind: 'variable'
  readonly at: number
  readonly name: string
  readonly fields: readonly string[]
}

export interface ChainOperand {
  readonly kind: 'chain'
  readonly at: number
  readonly operand: Operand
  readonly fields: readonly string[]
}

export type Expression = Command | Operand | TemplateCall

/** The source of an expression in its normal form, for messages. */
export function sourceOf(node: Expression): string {
  switch (node.kind) {
    case 'boolean':
      return String(node.value)
    case 'string':
    case 'number':
      return node.source
    case 'nil':
      return 'nil'
    case 'dot':
      return '.'
    case 'function':
      return node.name
    case 'field':
      return `.${node.names.join('.')}`
    case 'variable':
      return [node.name, ...node.fields].join('.')
    case 'chain':
      return [operandSource(node.operand), ...node.fields].join('.')
    case 'command':
      return node.operands.map(operandSource).join(' ')
    case 'template': {
      const data = node.pipeline === undefined ? '' : ` ${sourceOf(node.pipeline)}`
      return `{{template ${quote(node.name)}${data}}}`
    }
    case 'pipeline':
    default:
      return pipelineSource(node)
  }
}

function operandSource(operand: Operand): string {
  return operand.kind === 'pipeline' ? `(${sourceOf(operand)})` : sourceOf(operand)
}

function pipelineSource({ variables, isAssignment, commands }: Pipeline): string {
  const declaration = variables.length === 0 ? '' : `${variables.join(', ')} ${isAssignment ? '=' : ':='} `
  return declaration + commands.map(sourceOf).join(' | ')
}
