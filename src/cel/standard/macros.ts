/** The standard macros, and those that Kubernetes enables for every expression. */
import { type Macro, MacroError } from '../function.ts'
import type { Call, ComprehensionOperator, Expression } from '../syntax.ts'

export const standardMacros: readonly Macro[] = [
  { name: 'has', receiver: false, argumentCount: 1, expand: expandHas },
  ...(['all', 'exists', 'existsOne', 'exists_one'] as const).flatMap(name => [
    comprehension({ name, operator: quantifier(name), variables: 1 }),
    comprehension({ name, operator: quantifier(name), variables: 2 }),
  ]),
  comprehension({ name: 'map', operator: 'map', variables: 1 }),
  comprehension({ name: 'map', operator: 'map', variables: 1, isFiltered: true }),
  { name: 'filter', receiver: true, argumentCount: 2, expand: expandFilter },
  ...(['transformList', 'transformMap', 'transformMapEntry'] as const).flatMap(name => [
    comprehension({ name, operator: name, variables: 2 }),
    comprehension({ name, operator: name, variables: 2, isFiltered: true }),
  ]),
  { name: 'optMap', receiver: true, argumentCount: 2, expand: call => expandOptional(call, 'optMap') },
  {
    name: 'optFlatMap',
    receiver: true,
    argumentCount: 2,
    expand: call => expandOptional(call, 'optFlatMap'),
  },
]

interface ComprehensionMacro {
  readonly name: string
  readonly operator: ComprehensionOperator
  readonly variables: 1 | 2
  readonly isFiltered?: boolean
}

function quantifier(name: 'all' | 'exists' | 'existsOne' | 'exists_one'): ComprehensionOperator {
  return name === 'exists_one' ? 'existsOne' : name
}

function comprehension({ name, operator, variables, isFiltered = false }: ComprehensionMacro): Macro {
  const complaint = operator === 'map' ? 'argument is not an identifier' : 'argument must be a simple name'
  return {
    name,
    receiver: true,
    argumentCount: variables + (isFiltered ? 2 : 1),
    expand: ({ target, parameters, offset }) => {
      const body = parameters.at(-1)
      if (target === undefined || body === undefined) return undefined
      return {
        kind: 'comprehension',
        operator,
        range: target,
        variables: variableNames(parameters.slice(0, variables), complaint),
        ...(isFiltered ? { condition: parameters.at(-2)! } : {}),
        body,
        offset,
      }
    },
  }
}

/** The variable is also the result, so the condition is the last argument. */
function expandFilter({ target, parameters: [variable, condition], offset }: Call): Expression | undefined {
  if (target === undefined || variable === undefined || condition === undefined) return undefined
  const variables = variableNames([variable], 'argument is not an identifier')
  return {
    kind: 'comprehension',
    operator: 'filter',
    range: target,
    variables,
    condition,
    body: variable,
    offset,
  }
}

function expandHas({ parameters: [operand], offset }: Call): Expression | undefined {
  if (operand === undefined) return undefined
  if (operand.kind !== 'select' || operand.mode !== 'value') {
    throw new MacroError('invalid argument to has() macro', operand.offset)
  }
  return { ...operand, mode: 'test', offset }
}

/** Not a valid identifier; holds the optional, which is used twice but evaluated once. */
export const optionalName = '@optional'

function expandOptional({ target, parameters, offset }: Call, macro: string): Expression | undefined {
  const [variable, value] = parameters
  if (target === undefined || variable === undefined || value === undefined) return undefined
  if (!isSimpleName(variable)) {
    throw new MacroError(`${macro}() variable name must be a simple identifier`, variable.offset)
  }
  const optional: Expression = { kind: 'identifier', name: optionalName, offset: target.offset }
  const method = (name: string): Call => ({ kind: 'call', name, target: optional, parameters: [], offset })
  const bound: Expression = {
    kind: 'binding',
    name: variable.name,
    value: method('value'),
    body: value,
    offset,
  }
  const whenPresent: Expression =
    macro === 'optMap' ? { kind: 'call', name: 'optional.of', parameters: [bound], offset } : bound
  const whenAbsent: Expression = { kind: 'call', name: 'optional.none', parameters: [], offset }
  const body: Expression = {
    kind: 'call',
    name: '_?_:_',
    parameters: [method('hasValue'), whenPresent, whenAbsent],
    offset,
  }
  return { kind: 'binding', name: optionalName, value: target, body, offset }
}

function variableNames(parameters: readonly Expression[], complaint: string): string[] {
  const names: string[] = []
  for (const parameter of parameters) {
    if (!isSimpleName(parameter)) throw new MacroError(complaint, parameter.offset)
    if (parameter.name === '__result__') {
      throw new MacroError('iteration variable overwrites accumulator variable', parameter.offset)
    }
    if (names.includes(parameter.name)) {
      throw new MacroError(`duplicate variable name: ${parameter.name}`, parameter.offset)
    }
    names.push(parameter.name)
  }
  return names
}

function isSimpleName(expression: Expression): expression is Expression & { kind: 'identifier' } {
  return expression.kind === 'identifier' && !expression.name.startsWith('.')
}
