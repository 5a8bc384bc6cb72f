/** `cel.bind(name, value, expression)`: available in device selectors but not in admission policies. */
import { type Library, MacroError } from './function.ts'

export const bindingsLibrary: Library = {
  macros: [
    {
      name: 'bind',
      receiver: true,
      argumentCount: 3,
      expand: ({ target, parameters: [variable, value, body], offset }) => {
        if (target?.kind !== 'identifier' || target.name !== 'cel') return undefined
        if (variable === undefined || value === undefined || body === undefined) return undefined
        if (variable.kind !== 'identifier' || variable.name.startsWith('.')) {
          throw new MacroError('cel.bind() variable names must be simple identifiers', variable.offset)
        }
        return { kind: 'binding', name: variable.name, value, body, offset }
      },
    },
  ],
}
