/**
 * Unicode classes: `\p{L}`, `\p{Greek}`. The members are computed with JavaScript's regular expressions,
 * which include the Unicode tables.
 */
import { codePointMax, isSurrogate, negate, rangesOf, type Ranges } from './character-class.ts'

/** Undefined for an unknown class. Case, spaces, hyphens and underscores of the name are ignored. */
export function unicodeClass(name: string): Ranges | undefined {
  const property = properties().get(looseName(name))
  return property === undefined ? undefined : classes.getOrInsertComputed(property, membersOf)
}

/** Cache by property. Bounded: there are fewer than three hundred properties. */
const classes = new Map<string, Ranges>()

const categories = [
  'C Other; Cc Control cntrl; Cf Format; Cn Unassigned; Co Private_Use; Cs Surrogate; L Letter',
  'LC Cased_Letter; Ll Lowercase_Letter; Lm Modifier_Letter; Lo Other_Letter; Lt Titlecase_Letter',
  'Lu Uppercase_Letter; M Mark Combining_Mark; Mc Spacing_Mark; Me Enclosing_Mark; Mn Nonspacing_Mark',
  'N Number; Nd Decimal_Number digit; Nl Letter_Number; No Other_Number; P Punctuation punct',
  'Pc Connector_Punctuation; Pd Dash_Punctuation; Pe Close_Punctuation; Pf Final_Punctuation',
  'Pi Initial_Punctuation; Po Other_Punctuation; Ps Open_Punctuation; S Symbol; Sc Currency_Symbol',
  'Sk Modifier_Symbol; Sm Math_Symbol; So Other_Symbol; Z Separator; Zl Line_Separator',
  'Zp Paragraph_Separator; Zs Space_Separator',
]

const scripts = [
  'Adlam Ahom Anatolian_Hieroglyphs Arabic Armenian Avestan Balinese Bamum Bassa_Vah Batak Bengali',
  'Bhaiksuki Bopomofo Brahmi Braille Buginese Buhid Canadian_Aboriginal Carian Caucasian_Albanian Chakma',
  'Cham Cherokee Chorasmian Common Coptic Cuneiform Cypriot Cypro_Minoan Cyrillic Deseret Devanagari',
  'Dives_Akuru Dogra Duployan Egyptian_Hieroglyphs Elbasan Elymaic Ethiopic Georgian Glagolitic Gothic',
  'Grantha Greek Gujarati Gunjala_Gondi Gurmukhi Han Hangul Hanifi_Rohingya Hanunoo Hatran Hebrew Hiragana',
  'Imperial_Aramaic Inherited Inscriptional_Pahlavi Inscriptional_Parthian Javanese Kaithi Kannada',
  'Katakana Kawi Kayah_Li Kharoshthi Khitan_Small_Script Khmer Khojki Khudawadi Lao Latin Lepcha Limbu',
  'Linear_A Linear_B Lisu Lycian Lydian Mahajani Makasar Malayalam Mandaic Manichaean Marchen',
  'Masaram_Gondi Medefaidrin Meetei_Mayek Mende_Kikakui Meroitic_Cursive Meroitic_Hieroglyphs Miao Modi',
  'Mongolian Mro Multani Myanmar Nabataean Nag_Mundari Nandinagari New_Tai_Lue Newa Nko Nushu',
  'Nyiakeng_Puachue_Hmong Ogham Ol_Chiki Old_Hungarian Old_Italic Old_North_Arabian Old_Permic Old_Persian',
  'Old_Sogdian Old_South_Arabian Old_Turkic Old_Uyghur Oriya Osage Osmanya Pahawh_Hmong Palmyrene',
  'Pau_Cin_Hau Phags_Pa Phoenician Psalter_Pahlavi Rejang Runic Samaritan Saurashtra Sharada Shavian',
  'Siddham SignWriting Sinhala Sogdian Sora_Sompeng Soyombo Sundanese Syloti_Nagri Syriac Tagalog Tagbanwa',
  'Tai_Le Tai_Tham Tai_Viet Takri Tamil Tangsa Tangut Telugu Thaana Thai Tibetan Tifinagh Tirhuta Toto',
  'Ugaritic Vai Vithkuqi Wancho Warang_Citi Yezidi Yi Zanabazar_Square',
]

let propertiesCache: ReadonlyMap<string, string> | undefined

/** From a normalized name to the property in JavaScript's syntax. */
function properties(): ReadonlyMap<string, string> {
  if (propertiesCache !== undefined) return propertiesCache
  const found = new Map<string, string>()
  for (const name of ['Any', 'ASCII', 'Assigned']) found.set(looseName(name), name)
  for (const entry of categories.join('; ').split('; ')) {
    const names = entry.split(' ')
    for (const name of names) found.set(looseName(name), names[0] ?? '')
  }
  for (const name of scripts.join(' ').split(' ')) found.set(looseName(name), `Script=${name}`)
  propertiesCache = found
  return found
}

function looseName(name: string): string {
  return name.replace(/[-_ ]/g, '').toLowerCase()
}

const blockSize = 0x1000
/** A range without assigned code points; one check covers all of it. */
const unassigned = { first: 0x40000, last: 0xdffff }

/** Takes about ten milliseconds: nearly every code point is tested. */
function membersOf(property: string): Ranges {
  // Adjacent surrogates would combine into pairs, so they cannot be tested.
  if (property === 'Cs') return [0xd800, 0xdfff]
  if (property === 'Any') return negate([])
  const expression = new RegExp(`\\p{${property}}+`, 'gu')
  const pairs = property === 'C' || property === 'Assigned' ? [0xd800, 0xdfff] : []
  if (String.fromCodePoint(unassigned.first).search(expression) === 0) {
    pairs.push(unassigned.first, unassigned.last)
  }
  for (let first = 0; first <= codePointMax; first += blockSize) {
    if (first >= unassigned.first && first <= unassigned.last) continue
    const text = blockText(first)
    for (const { index, 0: run } of text.matchAll(expression)) {
      pairs.push(text.codePointAt(index) ?? 0, run.codePointAt(run.length - (first > 0xffff ? 2 : 1)) ?? 0)
    }
  }
  return rangesOf(pairs)
}

function blockText(first: number): string {
  const members: number[] = []
  for (let codePoint = first; codePoint < first + blockSize; codePoint++) {
    if (!isSurrogate(codePoint)) members.push(codePoint)
  }
  return String.fromCodePoint(...members)
}
