// QR codes (ISO/IEC 18004) of bytes, with error correction M, versions 1 to 10: at most 213 bytes.

// For each version: bytes of error correction per block, and [blocks, data bytes of each] in one or two
// groups.
const BLOCKS = [null,
  [10, [1, 16]], [16, [1, 28]], [26, [1, 44]], [18, [2, 32]], [24, [2, 43]], [16, [4, 27]], [18, [4, 31]],
  [22, [2, 38], [2, 39]], [22, [3, 36], [2, 37]], [26, [4, 43], [1, 44]]];
const ALIGNMENT = [null, [], [6, 18], [6, 22], [6, 26], [6, 30], [6, 34], [6, 22, 38], [6, 24, 42],
  [6, 26, 46], [6, 28, 50]];

// ---- Reed-Solomon, over GF(2^8) with the polynomial 0x11d ----

const EXP = new Uint8Array(512);
const LOG = new Uint8Array(256);
for (let i = 0, value = 1; i < 255; i += 1) {
  EXP[i] = value;
  EXP[i + 255] = value;
  LOG[value] = i;
  value = (value << 1) ^ (value & 0x80 ? 0x11d : 0);
}
const multiply = (a, b) => (a === 0 || b === 0 ? 0 : EXP[LOG[a] + LOG[b]]);

function correction(data, count) {
  let generator = [1];
  for (let i = 0; i < count; i += 1) {
    const next = new Array(generator.length + 1).fill(0);
    generator.forEach((factor, at) => {
      next[at] ^= factor;
      next[at + 1] ^= multiply(factor, EXP[i]);
    });
    generator = next;
  }
  const rest = new Uint8Array(count);
  for (const byte of data) {
    const factor = byte ^ rest[0];
    rest.copyWithin(0, 1);
    rest[count - 1] = 0;
    for (let i = 0; i < count; i += 1) rest[i] ^= multiply(generator[i + 1], factor);
  }
  return rest;
}

// ---- Bytes ----

const dataBytes = (version) =>
  BLOCKS[version].slice(1).reduce((sum, [blocks, bytes]) => sum + blocks * bytes, 0);

function dataOf(bytes, version) {
  const bits = [];
  const push = (value, length) => {
    for (let i = length - 1; i >= 0; i -= 1) bits.push((value >>> i) & 1);
  };
  push(0b0100, 4);  // bytes
  push(bytes.length, version < 10 ? 8 : 16);
  for (const byte of bytes) push(byte, 8);
  const capacity = dataBytes(version) * 8;
  push(0, Math.min(4, capacity - bits.length));
  while (bits.length % 8 !== 0) bits.push(0);
  for (let pad = 0xec; bits.length < capacity; pad ^= 0xec ^ 0x11) push(pad, 8);
  const data = new Uint8Array(bits.length / 8);
  bits.forEach((bit, at) => { data[at >> 3] |= bit << (7 - (at & 7)); });
  return data;
}

/** Splits the data into blocks, and mixes them and their correction. */
function codewords(bytes, version) {
  const data = dataOf(bytes, version);
  const [count, ...groups] = BLOCKS[version];
  const blocks = [];
  let at = 0;
  for (const [many, size] of groups) {
    for (let i = 0; i < many; i += 1, at += size) blocks.push(data.subarray(at, at + size));
  }
  const corrections = blocks.map((block) => correction(block, count));
  const mixed = [];
  const mix = (parts) => {
    const longest = Math.max(...parts.map((part) => part.length));
    for (let i = 0; i < longest; i += 1) {
      for (const part of parts) if (i < part.length) mixed.push(part[i]);
    }
  };
  mix(blocks);
  mix(corrections);
  return mixed;
}

// ---- Modules ----

const MASKS = [
  (x, y) => (x + y) % 2 === 0, (x, y) => y % 2 === 0, (x) => x % 3 === 0, (x, y) => (x + y) % 3 === 0,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2 === 0, (x, y) => ((x * y) % 2) + ((x * y) % 3) === 0,
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2 === 0, (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2 === 0];

/** Returns value and its BCH correction. */
function withCorrection(value, generator, bits) {
  let rest = value;
  for (let i = 0; i < bits; i += 1) rest = (rest << 1) ^ ((rest >>> (bits - 1)) & 1 ? generator : 0);
  return (value << bits) | (rest & ((1 << bits) - 1));
}

class Modules {
  constructor(version) {
    this.version = version;
    this.size = version * 4 + 17;
    this.dark = Array.from({ length: this.size }, () => new Array(this.size).fill(false));
    this.fixed = Array.from({ length: this.size }, () => new Array(this.size).fill(false));
    this.#drawPatterns();
  }

  set(x, y, isDark) {
    this.dark[y][x] = isDark;
    this.fixed[y][x] = true;
  }

  #drawPatterns() {
    const { size, version } = this;
    for (let i = 0; i < size; i += 1) {
      this.set(6, i, i % 2 === 0);
      this.set(i, 6, i % 2 === 0);
    }
    for (const [x, y] of [[3, 3], [size - 4, 3], [3, size - 4]]) this.#drawFinder(x, y);
    const places = ALIGNMENT[version];
    const last = places.length - 1;
    places.forEach((x, i) => places.forEach((y, j) => {
      const isFinder = (i === 0 && j === 0) || (i === 0 && j === last) || (i === last && j === 0);
      if (!isFinder) this.#drawAlignment(x, y);
    }));
    this.drawFormat(0);
    if (version < 7) return;
    const bits = withCorrection(version, 0x1f25, 12);
    for (let i = 0; i < 18; i += 1) {
      const isDark = ((bits >>> i) & 1) === 1;
      const a = size - 11 + (i % 3);
      const b = Math.floor(i / 3);
      this.set(a, b, isDark);
      this.set(b, a, isDark);
    }
  }

  #drawFinder(centreX, centreY) {
    for (let dy = -4; dy <= 4; dy += 1) {
      for (let dx = -4; dx <= 4; dx += 1) {
        const distance = Math.max(Math.abs(dx), Math.abs(dy));
        const x = centreX + dx;
        const y = centreY + dy;
        const isInside = x >= 0 && x < this.size && y >= 0 && y < this.size;
        if (isInside) this.set(x, y, distance !== 2 && distance !== 4);
      }
    }
  }

  #drawAlignment(x, y) {
    for (let dy = -2; dy <= 2; dy += 1) {
      for (let dx = -2; dx <= 2; dx += 1) {
        this.set(x + dx, y + dy, Math.max(Math.abs(dx), Math.abs(dy)) !== 1);
      }
    }
  }

  drawFormat(mask) {
    const { size } = this;
    const bits = withCorrection(mask, 0x537, 10) ^ 0x5412;  // correction M is 00
    const bit = (i) => ((bits >>> i) & 1) === 1;
    for (let i = 0; i <= 5; i += 1) this.set(8, i, bit(i));
    this.set(8, 7, bit(6));
    this.set(8, 8, bit(7));
    this.set(7, 8, bit(8));
    for (let i = 9; i < 15; i += 1) this.set(14 - i, 8, bit(i));
    for (let i = 0; i < 8; i += 1) this.set(size - 1 - i, 8, bit(i));
    for (let i = 8; i < 15; i += 1) this.set(8, size - 15 + i, bit(i));
    this.set(8, size - 8, true);
  }

  drawData(data) {
    let at = 0;
    for (let right = this.size - 1; right >= 1; right -= 2) {
      if (right === 6) right = 5;
      const isUp = ((right + 1) & 2) === 0;
      for (let i = 0; i < this.size; i += 1) {
        const y = isUp ? this.size - 1 - i : i;
        for (const x of [right, right - 1]) {
          if (this.fixed[y][x]) continue;
          if (at < data.length * 8) this.dark[y][x] = ((data[at >> 3] >>> (7 - (at & 7))) & 1) === 1;
          at += 1;
        }
      }
    }
  }

  /** Applying it twice removes it. */
  applyMask(mask) {
    for (let y = 0; y < this.size; y += 1) {
      for (let x = 0; x < this.size; x += 1) {
        if (!this.fixed[y][x] && MASKS[mask](x, y)) this.dark[y][x] = !this.dark[y][x];
      }
    }
  }

  /** Returns how hard the code is to read. */
  penalty() {
    const { size, dark } = this;
    let sum = 0;
    let count = 0;
    const lines = [...dark, ...dark.map((_, x) => dark.map((row) => row[x]))];
    for (const line of lines) {
      const text = line.map((isDark) => (isDark ? '1' : '0')).join('');
      for (const run of text.match(/0{5,}|1{5,}/g) ?? []) sum += run.length - 2;
      for (let i = 0; i + 11 <= size; i += 1) {
        const part = text.slice(i, i + 11);
        if (part === '10111010000' || part === '00001011101') sum += 40;
      }
    }
    for (let y = 0; y < size; y += 1) {
      for (let x = 0; x < size; x += 1) {
        if (dark[y][x]) count += 1;
        if (x + 1 === size || y + 1 === size) continue;
        const same = dark[y][x] === dark[y][x + 1] && dark[y][x] === dark[y + 1][x] &&
          dark[y][x] === dark[y + 1][x + 1];
        if (same) sum += 3;
      }
    }
    return sum + 10 * Math.floor(Math.abs((count * 20) / (size * size) - 10));
  }
}

/** Returns the rows of a code, each an array that has true for a dark module. */
export function qrModules(text) {
  const bytes = new TextEncoder().encode(text);
  let version = 1;
  const fits = () => bytes.length + (version < 10 ? 2 : 3) <= dataBytes(version);
  while (!fits()) {
    version += 1;
    if (version === BLOCKS.length) throw new RangeError('the text is too long for a QR code');
  }
  const modules = new Modules(version);
  modules.drawData(codewords(bytes, version));
  let best = 0;
  let least = Infinity;
  for (let mask = 0; mask < MASKS.length; mask += 1) {
    modules.drawFormat(mask);
    modules.applyMask(mask);
    const penalty = modules.penalty();
    modules.applyMask(mask);
    if (penalty < least) [best, least] = [mask, penalty];
  }
  modules.drawFormat(best);
  modules.applyMask(best);
  return modules.dark;
}
