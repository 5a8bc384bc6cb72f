import { quote } from '#/api/text/quote.ts'
import { unquote } from '../unquote.ts'
import type { Command, ControlNode, Operand, Pipeline, TemplateNode } from './nodes.ts'
import { sourceOf } from './nodes.ts'
import { parseCharacterConstant, parseNumberConstant } from './number-constant.ts'
import { tokenize, type Token } from './tokenize.ts'
import { TokenReader } from './token-reader.ts'

/** The templates of a text by name. The text outside of definitions is a template, too. */
export type Templates = ReadonlyMap<string, readonly TemplateNode[]>

export interface TemplateSource {
  readonly name: string
  readonly text: string
  /** The names that can be called. */
  readonly isFunction: (name: string) => boolean
}

/** Throws an error with Go's message. */
export function parseTemplate(source: TemplateSource): Templates {
  return new Parser(source).parse()
}

/** Maximum nesting of actions and parentheses, which is safe for the stack. */
const depthMax = 500

/** What is known inside of one template. */
interface Scope {
  variables: string[]
  /** Number of ranges around. */
  ranges: number
  /** The line on which the current action began, 0 outside of actions. */
  actionLine: number
}

/** Ends the body of a control action. */
type Terminator = { readonly kind: 'end' } | { readonly kind: 'else' }

interface Body {
  readonly nodes: readonly TemplateNode[]
  readonly terminator: Terminator
}

class Parser {
  readonly #source: TemplateSource
  readonly #tokens: TokenReader
  readonly #templates = new Map<string, readonly TemplateNode[]>()
  #scope = newScope()
  #depth = 0

  constructor(source: TemplateSource) {
    this.#source = source
    this.#tokens = new TokenReader(tokenize(source.text))
  }

  parse(): Templates {
    const nodes: TemplateNode[] = []
    while (this.#tokens.peek().kind !== 'end') {
      if (this.#takeDefine()) {
        this.#parseDefinition()
        continue
      }
      const node = this.#parseNode()
      if (isTerminator(node)) throw this.#error(`unexpected {{${node.kind}}}`)
      nodes.push(node)
    }
    this.#add(this.#source.name, nodes)
    return this.#templates
  }

  #takeDefine(): boolean {
    const start = this.#tokens.position
    if (this.#tokens.next().kind === 'leftDelimiter' && isKeyword(this.#tokens.nextNonSpace(), 'define')) {
      return true
    }
    this.#tokens.position = start
    return false
  }

  #parseDefinition(): void {
    const context = 'define clause'
    const outer = this.#enter()
    const name = this.#parseName(this.#tokens.nextNonSpace(), context)
    this.#expectRightDelimiter(context)
    this.#parseNamed(name, context)
    this.#scope = outer
  }

  #parseNamed(name: string, context: string): void {
    const { nodes, terminator } = this.#parseBody()
    if (terminator.kind !== 'end') throw this.#error(`unexpected {{else}} in ${context}`)
    this.#add(name, nodes)
  }

  /** A template that contains nothing but space does not replace another. */
  #add(name: string, nodes: readonly TemplateNode[]): void {
    const existing = this.#templates.get(name)
    if (existing === undefined || isEmpty(existing)) this.#templates.set(name, nodes)
    else if (!isEmpty(nodes)) {
      throw this.#error(`template: multiple definition of template ${quote(name)}`)
    }
  }

  /** Begins a template of its own. Returns the scope around it. */
  #enter(): Scope {
    const outer = this.#scope
    this.#scope = newScope()
    return outer
  }

  #parseBody(): Body {
    const nodes: TemplateNode[] = []
    while (this.#tokens.peekNonSpace().kind !== 'end') {
      const node = this.#parseNode()
      if (isTerminator(node)) return { nodes, terminator: node }
      nodes.push(node)
    }
    throw this.#error('unexpected EOF')
  }

  #parseNode(): TemplateNode | Terminator {
    const token = this.#tokens.nextNonSpace()
    if (token.kind === 'text') return { kind: 'text', text: token.text }
    if (token.kind !== 'leftDelimiter') throw this.#unexpected(token, 'input')
    this.#scope.actionLine = token.line
    const node = this.#nested(() => this.#parseAction())
    this.#scope.actionLine = 0
    return node
  }

  #parseAction(): TemplateNode | Terminator {
    const start = this.#tokens.position
    const token = this.#tokens.nextNonSpace()
    switch (token.kind === 'keyword' ? token.text : '') {
      case 'block':
        return this.#parseBlock()
      case 'break':
      case 'continue':
        return this.#parseJump(token.text === 'break' ? 'break' : 'continue')
      case 'else':
        return this.#parseElse()
      case 'end':
        this.#expectRightDelimiter('end')
        return { kind: 'end' }
      case 'if':
        return this.#parseControl('if')
      case 'range':
        return this.#parseControl('range')
      case 'template':
        return this.#parseTemplateCall()
      case 'with':
        return this.#parseControl('with')
      default:
        this.#tokens.position = start
        return { kind: 'action', pipeline: this.#parsePipeline('command', 'rightDelimiter') }
    }
  }

  #parseJump(kind: 'break' | 'continue'): TemplateNode {
    const token = this.#tokens.nextNonSpace()
    if (token.kind !== 'rightDelimiter') throw this.#unexpected(token, `{{${kind}}}`)
    if (this.#scope.ranges === 0) throw this.#error(`{{${kind}}} outside {{range}}`)
    return { kind }
  }

  /** The keyword of `else if` and `else with` remains to be read. */
  #parseElse(): Terminator {
    const next = this.#tokens.peekNonSpace()
    if (!isKeyword(next, 'if') && !isKeyword(next, 'with')) this.#expectRightDelimiter('else')
    return { kind: 'else' }
  }

  #parseControl(kind: ControlNode['kind']): ControlNode {
    const variables = this.#scope.variables.length
    const pipeline = this.#parsePipeline(kind, 'rightDelimiter')
    if (kind === 'range') this.#scope.ranges++
    const { nodes: body, terminator } = this.#parseBody()
    if (kind === 'range') this.#scope.ranges--
    const otherwise = terminator.kind === 'else' ? this.#parseOtherwise(kind) : undefined
    this.#scope.variables.length = variables
    return { kind, pipeline, body, otherwise }
  }

  #parseOtherwise(kind: ControlNode['kind']): readonly TemplateNode[] {
    if (kind !== 'range' && isKeyword(this.#tokens.peek(), kind)) {
      this.#tokens.next()
      return [this.#nested(() => this.#parseControl(kind))]
    }
    const { nodes, terminator } = this.#parseBody()
    if (terminator.kind !== 'end') throw this.#error('expected end; found {{else}}')
    return nodes
  }

  #parseBlock(): TemplateNode {
    const context = 'block clause'
    const token = this.#tokens.nextNonSpace()
    const name = this.#parseName(token, context)
    const pipeline = this.#parsePipeline(context, 'rightDelimiter')
    const outer = this.#enter()
    this.#parseNamed(name, context)
    this.#scope = outer
    return { kind: 'template', at: token.at, name, pipeline }
  }

  #parseTemplateCall(): TemplateNode {
    const context = 'template clause'
    const token = this.#tokens.nextNonSpace()
    const name = this.#parseName(token, context)
    const start = this.#tokens.position
    if (this.#tokens.nextNonSpace().kind === 'rightDelimiter') {
      return { kind: 'template', at: token.at, name, pipeline: undefined }
    }
    this.#tokens.position = start
    const pipeline = this.#parsePipeline(context, 'rightDelimiter')
    return { kind: 'template', at: token.at, name, pipeline }
  }

  #parseName(token: Token, context: string): string {
    if (token.kind !== 'string' && token.kind !== 'rawString') throw this.#unexpected(token, context)
    return this.#unquote(token)
  }

  #parsePipeline(context: string, end: 'rightDelimiter' | 'rightParenthesis'): Pipeline {
    const { at } = this.#tokens.peekNonSpace()
    const { variables, isAssignment } = this.#parseVariables(context)
    const commands: Command[] = []
    for (let token = this.#tokens.peekNonSpace(); token.kind !== end; token = this.#tokens.peekNonSpace()) {
      if (!startsOperand(token)) {
        this.#tokens.nextNonSpace()
        throw this.#unexpected(token, context)
      }
      commands.push(this.#parseCommand())
    }
    this.#tokens.nextNonSpace()
    if (commands.length === 0) throw this.#error(`missing value for ${context}`)
    for (const [index, { operands }] of commands.entries()) {
      if (index > 0 && operands[0] !== undefined && literals.has(operands[0].kind)) {
        throw this.#error(`non executable command in pipeline stage ${index + 1}`)
      }
    }
    return { kind: 'pipeline', at, variables, isAssignment, commands }
  }

  #parseVariables(context: string): Pick<Pipeline, 'variables' | 'isAssignment'> {
    const variables: string[] = []
    for (;;) {
      const start = this.#tokens.position
      const variable = this.#tokens.nextNonSpace()
      const next = variable.kind === 'variable' ? this.#readSeparator() : undefined
      if (next === undefined) {
        this.#tokens.position = start
        return { variables, isAssignment: false }
      }
      variables.push(variable.text)
      this.#scope.variables.push(variable.text)
      if (next.kind !== 'character') return { variables, isAssignment: next.kind === 'assign' }
      if (context !== 'range' || variables.length > 1) {
        throw this.#error(`too many declarations in ${context}`)
      }
      const { kind } = this.#tokens.peekNonSpace()
      if (kind !== 'variable' && kind !== 'rightDelimiter' && kind !== 'rightParenthesis') {
        throw this.#error('range can only initialize variables')
      }
    }
  }

  /** The token after a variable that is set. */
  #readSeparator(): Token | undefined {
    // An operator next to the variable was not read beyond it.
    this.#tokens.peek()
    const next = this.#tokens.peekNonSpace()
    const isSeparator = next.kind === 'assign' || next.kind === 'declare' || isComma(next)
    return isSeparator ? this.#tokens.nextNonSpace() : undefined
  }

  /** Up to the end of the pipeline, or behind a pipe character. */
  #parseCommand(): Command {
    const { at } = this.#tokens.peekNonSpace()
    const operands: Operand[] = []
    for (;;) {
      this.#tokens.peekNonSpace()
      const operand = this.#parseOperand()
      if (operand !== undefined) operands.push(operand)
      const start = this.#tokens.position
      const token = this.#tokens.next()
      if (token.kind === 'space') continue
      if (token.kind === 'rightDelimiter' || token.kind === 'rightParenthesis') {
        this.#tokens.position = start
      } else if (token.kind !== 'pipe') {
        throw this.#unexpected(token, 'operand')
      }
      if (operands.length === 0) throw this.#error('empty command')
      return { kind: 'command', at, operands }
    }
  }

  /** A term and its fields. */
  #parseOperand(): Operand | undefined {
    const term = this.#parseTerm()
    if (term === undefined || this.#tokens.peek().kind !== 'field') return term
    const { at } = this.#tokens.peek()
    const fields: string[] = []
    while (this.#tokens.peek().kind === 'field') fields.push(this.#tokens.next().text.slice(1))
    if (term.kind === 'field') return { kind: 'field', at, names: [...term.names, ...fields] }
    if (term.kind === 'variable') return { ...term, at, fields }
    if (literals.has(term.kind)) throw this.#error(`unexpected . after term ${quote(sourceOf(term))}`)
    return { kind: 'chain', at, operand: term, fields }
  }

  #parseTerm(): Operand | undefined {
    const start = this.#tokens.position
    const token = this.#tokens.nextNonSpace()
    const { kind, at, text } = token
    if (kind === 'identifier') {
      if (!this.#source.isFunction(text)) throw this.#error(`function ${quote(text)} not defined`)
      return { kind: 'function', at, name: text }
    }
    if (kind === 'variable') {
      if (!this.#scope.variables.includes(text)) throw this.#error(`undefined variable ${quote(text)}`)
      return { kind: 'variable', at, name: text, fields: [] }
    }
    if (kind === 'field') return { kind: 'field', at, names: [text.slice(1)] }
    if (kind === 'boolean') return { kind: 'boolean', at, value: text === 'true' }
    if (kind === 'string' || kind === 'rawString') {
      return { kind: 'string', at, source: text, value: this.#unquote(token) }
    }
    if (kind === 'number' || kind === 'characterConstant' || kind === 'complex') {
      return { kind: 'number', at, source: text, value: this.#parseNumber(token) }
    }
    if (kind === 'leftParenthesis') {
      return this.#nested(() => this.#parsePipeline('parenthesized pipeline', 'rightParenthesis'))
    }
    if (isKeyword(token, '.')) return { kind: 'dot', at }
    if (isKeyword(token, 'nil')) return { kind: 'nil', at }
    this.#tokens.position = start
    return undefined
  }

  #parseNumber({ kind, text }: Token) {
    try {
      return kind === 'characterConstant' ? parseCharacterConstant(text) : parseNumberConstant(text)
    } catch (error) {
      throw error instanceof Error ? this.#error(error.message) : error
    }
  }

  #unquote({ kind, text }: Token): string {
    const inside = text.slice(1, -1)
    const value = kind === 'rawString' ? inside.replaceAll('\r', '') : unquote(inside, '"')
    if (value === undefined) throw this.#error('invalid syntax')
    return value
  }

  #nested<T>(parse: () => T): T {
    if (this.#depth === depthMax) throw this.#error('max expression depth exceeded')
    this.#depth++
    const node = parse()
    this.#depth--
    return node
  }

  #expectRightDelimiter(context: string): void {
    const token = this.#tokens.nextNonSpace()
    if (token.kind !== 'rightDelimiter') throw this.#unexpected(token, context)
  }

  #unexpected(token: Token, context: string): Error {
    if (token.kind !== 'error') return this.#error(`unexpected ${nameOf(token)} in ${context}`)
    const { actionLine } = this.#scope
    if (actionLine === 0 || actionLine === token.line) return this.#error(token.text)
    const action = token.text.endsWith(' action') ? '' : ' in action'
    return this.#error(`${token.text}${action} started at ${this.#source.name}:${actionLine}`)
  }

  #error(message: string): Error {
    return new Error(`template: ${this.#source.name}:${this.#tokens.line}: ${message}`)
  }
}

/** Operands that only the first command of a pipeline may begin with, and that have no fields. */
const literals: ReadonlySet<string> = new Set(['boolean', 'dot', 'nil', 'number', 'string'])

const operandStarts: ReadonlySet<string> = new Set(
  'boolean characterConstant complex field identifier number rawString string variable leftParenthesis'.split(
    ' ',
  ),
)

function startsOperand(token: Token): boolean {
  return operandStarts.has(token.kind) || isKeyword(token, '.') || isKeyword(token, 'nil')
}

function isKeyword(token: Token, word: string): boolean {
  return token.kind === 'keyword' && token.text === word
}

function isComma(token: Token): boolean {
  return token.kind === 'character' && token.text === ','
}

function isTerminator(node: TemplateNode | Terminator): node is Terminator {
  return node.kind === 'end' || node.kind === 'else'
}

function isEmpty(nodes: readonly TemplateNode[]): boolean {
  return nodes.every(node => node.kind === 'text' && node.text.trim() === '')
}

function newScope(): Scope {
  return { variables: ['$'], ranges: 0, actionLine: 0 }
}

/** How messages name a token. */
function nameOf({ kind, text }: Token): string {
  if (kind === 'end') return 'EOF'
  if (kind === 'keyword') return `<${text}>`
  const shown = Array.from(text).slice(0, shownCharactersMax).join('')
  return Buffer.byteLength(text) > shownCharactersMax ? `${quote(shown)}...` : quote(text)
}

const shownCharactersMax = 10
