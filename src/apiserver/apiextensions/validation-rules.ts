/**
 * The CEL rules of a schema (`x-kubernetes-validations`), compiled when they are first needed: most objects of a
 * large schema contain values of few of its fields.
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-rules
 */
import type { JSONSchemaProps, ValidationRule } from '#/api/generated/apiextensions/v1.ts'
import { itemsOf, valuesOf } from '#/api/custom-resources/subschemas.ts'
import type { Program } from '#/cel/cel.ts'
import { compileExpression, InvalidExpression } from '#/cel/compile-expression.ts'
import type { Environment } from '#/cel/environment.ts'
import { ruleEnvironment, selfType } from '#/cel/rule-environment.ts'
import type { Type } from '#/cel/type.ts'

/** A schema with rules of its own or within. */
export interface RuleNode {
  readonly schema: JSONSchemaProps
  /** True for the root of a custom resource and for an embedded resource, whose metadata is visible. */
  readonly isResource: boolean
  readonly properties: readonly (readonly [string, RuleNode])[]
  readonly items: RuleNode | undefined
  readonly values: RuleNode | undefined
}

/** The nodes of schemas, shared by the trees of several roots within one schema. */
export type RuleNodes = Map<JSONSchemaProps, RuleNode | undefined>

/** Undefined if the schema has no rules. */
export function ruleNodeOf(
  schema: JSONSchemaProps,
  isResource: boolean,
  nodes: RuleNodes = new Map(),
): RuleNode | undefined {
  if (nodes.has(schema)) return nodes.get(schema)
  const nodeOf = (nested: JSONSchemaProps) =>
    ruleNodeOf(nested, nested['x-kubernetes-embedded-resource'] === true, nodes)
  const properties = Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const node = nodeOf(property)
    return node ? [[name, node] as const] : []
  })
  const [item, value] = [itemsOf(schema), valuesOf(schema)]
  const items = item && nodeOf(item)
  const values = value && nodeOf(value)
  const hasRules = rulesIn(schema).length > 0 || properties.length > 0 || items || values
  const node = hasRules ? { schema, isResource, properties, items, values } : undefined
  nodes.set(schema, node)
  return node
}

export interface CompiledRule {
  readonly rule: ValidationRule
  /** The program, or why the rule cannot be compiled. */
  readonly program: Program | InvalidExpression
  /** Undefined without a message expression. */
  readonly message: Program | InvalidExpression | undefined
  /** The rule refers to `oldSelf`. */
  readonly isTransition: boolean
}

/** The rules of a schema itself, each compiled on first use. */
export class SchemaRules {
  /** The type of `self`. */
  readonly type: Type
  readonly #rules: readonly ValidationRule[]
  readonly #compiled: CompiledRule[] = []

  constructor(schema: JSONSchemaProps, isResource: boolean) {
    this.type = selfType(schema, isResource)
    this.#rules = rulesIn(schema)
  }

  get length(): number {
    return this.#rules.length
  }

  at(index: number): CompiledRule {
    return (this.#compiled[index] ??= this.#compile(this.#rules[index]!))
  }

  #compile(rule: ValidationRule): CompiledRule {
    const { optionalOldSelf = false } = rule
    return compileRule(rule, ruleEnvironment(this.type, { optionalOldSelf }))
  }
}

/** The same rules each time for a schema. */
export function schemaRulesOf({ schema, isResource }: Pick<RuleNode, 'schema' | 'isResource'>): SchemaRules {
  return rulesOfSchemas.getOrInsertComputed(schema, () => new SchemaRules(schema, isResource))
}

const rulesOfSchemas = new WeakMap<JSONSchemaProps, SchemaRules>()

function rulesIn(schema: JSONSchemaProps): readonly ValidationRule[] {
  return schema['x-kubernetes-validations'] ?? []
}

function compileRule(rule: ValidationRule, environment: Environment): CompiledRule {
  const program = compileCondition(rule.rule, environment)
  if (program instanceof InvalidExpression) return { rule, program, message: undefined, isTransition: false }
  const isTransition = program.variables.has('oldSelf')
  const message = rule.messageExpression ? compileMessage(rule.messageExpression, environment) : undefined
  return { rule, program, message, isTransition }
}

function compileCondition(expression: string, environment: Environment): Program | InvalidExpression {
  const program = compileExpression(expression, environment)
  if (program instanceof InvalidExpression || program.type.kind === 'bool') return program
  return new InvalidExpression(expression, 'cel expression must evaluate to a bool')
}

function compileMessage(expression: string, environment: Environment): Program | InvalidExpression {
  const program = compileExpression(expression, environment)
  if (program instanceof InvalidExpression) {
    return new InvalidExpression(expression, `messageExpression ${program.message}`)
  }
  if (program.type.kind === 'string') return program
  return new InvalidExpression(expression, 'messageExpression must evaluate to a string')
}
